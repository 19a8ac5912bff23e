#!/usr/bin/env bash
# Prints the folder with the programs of a PostgreSQL server, for the tests that start one.
# With --install, installs them if they are missing, where apt-get can do that.
set -euo pipefail

found() {
    local folder
    for folder in "$(dirname "$(command -v postgres || echo /)")" \
                  "$(pg_config --bindir 2>/dev/null || true)" \
                  /usr/lib/postgresql/*/bin; do
        if [ -x "$folder/postgres" ] && [ -x "$folder/initdb" ]; then
            echo "$folder"
            return
        fi
    done
    return 1
}

if found; then exit; fi
if [ "${1:-}" = --install ] && "$(dirname "$0")/install_package.sh" postgresql && found; then exit; fi
echo "There is no PostgreSQL server: install the package postgresql of your system." >&2
exit 1
