#!/usr/bin/env bash
# Installs NVIDIA's compiler tools (tileiras, ptxas, nvdisasm, cuobjdump) from PyPI into a Python virtual environment and prints
# the folder that holds them. What is there in the right version is left alone.
#
#   scripts/nvidia-tools.sh [DIR]       DIR defaults to .tools
set -euo pipefail
. "$(dirname "$0")/venv.sh"
dir=${1:-.tools}
version=13.5.37
venv "$dir" "nvidia-cuda-nvcc==$version nvidia-nvvm==$version nvidia-cuda-nvdisasm==$version
 nvidia-cuda-cuobjdump==$version nvidia-cuda-tileiras==$version" >/dev/null
dir=$(cd "$dir" && pwd)
dirname "$(ls "$dir"/lib*/python3*/site-packages/nvidia/cu*/bin/ptxas | head -n 1)"
