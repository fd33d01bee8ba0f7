#!/usr/bin/env bash
# Installs NVIDIA's TileGym from PyPI into a Python virtual environment of its own, with cuTile Python and the torch that it computes shapes with (5 GB), without
# NVIDIA's compiler, and prints its Python. What is there in the right version is left alone.
#
#   scripts/tilegym.sh [DIR]       the environment is DIR/tilegym, DIR defaults to .tools
set -euo pipefail
dir=${1:-.tools}/tilegym
packages="cuda-tile==1.7.0 torch==2.15.0 numpy ml_dtypes tilegym==1.5.1"
if [ "$(cat "$dir/packages" 2>/dev/null)" != "$packages" ]; then
    mkdir -p "$dir"
    {
        python3 -m venv "$dir"
        # shellcheck disable=SC2086
        "$dir/bin/python" -m pip install --disable-pip-version-check --no-input ${packages% *}
        "$dir/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps "${packages##* }"
    } >"$dir/setup.log" 2>&1
    printf '%s' "$packages" >"$dir/packages"
fi
echo "$(cd "$dir" && pwd)/bin/python"
