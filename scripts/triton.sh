#!/usr/bin/env bash
# Installs Triton from PyPI into a Python virtual environment, compiles the kernels of triton-kernels.py with it and prints the
# folder that holds them. What is there in the right version is left alone.
#
#   scripts/triton.sh [DIR]       DIR defaults to .tools
set -euo pipefail
dir=${1:-.tools}
here=$(cd "$(dirname "$0")" && pwd)
packages="triton==3.9.0 numpy==2.4.6"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
stamp="$packages $(cksum <"$here/triton-kernels.py")"
if [ "$(cat "$dir/triton-kernels/done" 2>/dev/null)" != "$stamp" ]; then
    {
        [ -x "$dir/triton/bin/python" ] || python3 -m venv "$dir/triton"
        # shellcheck disable=SC2086
        "$dir/triton/bin/python" -m pip install --disable-pip-version-check --no-input $packages
        rm -rf "$dir/triton-kernels"
        "$dir/triton/bin/python" "$here/triton-kernels.py" "$dir/triton-kernels"
    } >"$dir/triton.log" 2>&1
    printf '%s' "$stamp" >"$dir/triton-kernels/done"
fi
echo "$dir/triton-kernels"
