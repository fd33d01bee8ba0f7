#!/usr/bin/env bash
# Installs Triton from PyPI into a Python virtual environment, compiles the kernels of triton-kernels.py with it and prints the
# folder that holds them. What is there in the right version is left alone.
#
#   scripts/triton.sh [DIR]       DIR defaults to .tools
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/venv.sh"
packages="triton==3.9.0 numpy==2.4.6"
mkdir -p "${1:-.tools}"
dir=$(cd "${1:-.tools}" && pwd)
python=$(venv "$dir/triton" "$packages")
stamp="$packages $(cksum <"$here/triton-kernels.py")"
if [ "$(cat "$dir/triton-kernels/done" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$dir/triton-kernels"
    "$python" "$here/triton-kernels.py" "$dir/triton-kernels" >>"$dir/triton/setup.log" 2>&1
    printf '%s' "$stamp" >"$dir/triton-kernels/done"
fi
echo "$dir/triton-kernels"
