#!/usr/bin/env bash
# Installs NVIDIA's compiler tools (tileiras, ptxas, nvdisasm, cuobjdump) from PyPI into a Python virtual environment and prints
# the folder that holds them. What is there in the right version is left alone.
#
#   scripts/nvidia-tools.sh [DIR]       DIR defaults to .tools
set -euo pipefail
dir=${1:-.tools}
version=13.5.37
packages="nvidia-cuda-nvcc==$version nvidia-nvvm==$version nvidia-cuda-nvdisasm==$version
 nvidia-cuda-cuobjdump==$version nvidia-cuda-tileiras==$version"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
if [ "$(cat "$dir/packages" 2>/dev/null)" != "$packages" ]; then
    {
        [ -x "$dir/bin/python" ] || python3 -m venv "$dir"
        # shellcheck disable=SC2086
        "$dir/bin/python" -m pip install --disable-pip-version-check --no-input $packages
    } >"$dir/setup.log" 2>&1
    printf '%s' "$packages" >"$dir/packages"
fi
dirname "$(ls "$dir"/lib*/python3*/site-packages/nvidia/cu*/bin/ptxas | head -n 1)"
