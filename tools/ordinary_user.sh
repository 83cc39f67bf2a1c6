#!/usr/bin/env bash
# The main job as a user without root: `make demo` and three upgrades on real Ray, in a fresh clone of this commit.
# As root it adds the user `ordinary` and becomes it (`tools/ordinary_user.sh USER` for another); as anybody else it runs as you.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(id -u)" = 0 ]; then
    user=${1:-ordinary}
    id "$user" >/dev/null 2>&1 || useradd --create-home "$user"
    home=$(getent passwd "$user" | cut -d: -f6)
    bundle=$(mktemp) && trap 'rm -f "$bundle"' EXIT
    git -C "$repository" bundle create -q "$bundle" HEAD
    install -o "$user" -m 600 "$bundle" "$home/rayward.bundle"
    install -o "$user" -m 755 "$0" "$home/ordinary_user.sh"
    setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups \
        env HOME="$home" USER="$user" LOGNAME="$user" "$home/ordinary_user.sh" "$home/rayward.bundle"
    exit
fi
source=${1:-$repository}
clone=$(mktemp -d "$HOME/rayward-XXXXXX")
trap 'make -C "$clone" down || true; rm -rf "$clone"' EXIT
git clone -q "$source" "$clone"
cd "$clone"
echo "as $(id -un), uid $(id -u), at $(git log -1 --format=%h)"
make demo
make down
make .venv/dev.stamp .venv/ray.stamp
.venv/bin/python -m pytest -q -s -p no:cacheprovider 'tests/ray/test_smoke.py::test_upgrades_lose_no_request[3]'
