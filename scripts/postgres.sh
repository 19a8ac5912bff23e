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

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

if found; then exit; fi
if [ "${1:-}" = --install ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { as_root apt-get update && as_root apt-get install --yes --no-install-recommends postgresql; } >&2
    if found; then exit; fi
fi
echo "There is no PostgreSQL server: install the package postgresql of your system." >&2
exit 1
