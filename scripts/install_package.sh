#!/usr/bin/env bash
# Installs a package of the system, where apt-get can do that, for tests that need its programs.
set -euo pipefail

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

command -v apt-get >/dev/null
export DEBIAN_FRONTEND=noninteractive
patient=(-o DPkg::Lock::Timeout=600)  # on a fresh machine the system's own updates often have the lock
{ as_root apt-get update && as_root apt-get "${patient[@]}" install --yes --no-install-recommends "$1"; } >&2
