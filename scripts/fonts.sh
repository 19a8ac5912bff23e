#!/usr/bin/env bash
# Finds the fonts with which a test prints certificates, or installs them where apt-get can do that.
set -euo pipefail

while read -r file package; do
    find /usr/share/fonts -name "$file" 2>/dev/null | grep . || "$(dirname "$0")/install_package.sh" "$package"
done <<END
DejaVuSerif.ttf fonts-dejavu-core
LiberationSerif-Regular.ttf fonts-liberation
NotoSerif-Regular.ttf fonts-noto-core
END
