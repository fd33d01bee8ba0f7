#!/usr/bin/env bash
# Installs cuTile Python from PyPI into a Python virtual environment of its own, without NVIDIA's compiler, which the front end would find before PATH, and
# prints its Python. What is there in the right version is left alone.
#
#   scripts/cutile.sh [DIR]       the environment is DIR/frontends, DIR defaults to .tools
set -euo pipefail
dir=${1:-.tools}/frontends
packages="cuda-tile==1.7.0 numpy ml_dtypes"
if [ "$(cat "$dir/packages" 2>/dev/null)" != "$packages" ]; then
    mkdir -p "$dir"
    {
        python3 -m venv "$dir"
        # shellcheck disable=SC2086
        "$dir/bin/python" -m pip install --disable-pip-version-check --no-input $packages
    } >"$dir/setup.log" 2>&1
    printf '%s' "$packages" >"$dir/packages"
fi
echo "$(cd "$dir" && pwd)/bin/python"
