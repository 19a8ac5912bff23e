#!/usr/bin/env bash
# Installs a package of the system, where apt-get can do that, for tests that need its programs.
set -euo pipefail

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

command -v apt-get >/dev/null
export DEBIAN_FRONTEND=noninteractive
{ as_root apt-get update && as_root apt-get install --yes --no-install-recommends "$1"; } >&2
