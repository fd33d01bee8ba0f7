#!/usr/bin/env bash
# Installs NVIDIA's TileGym from PyPI into a Python virtual environment of its own, with cuTile Python and the torch that it computes shapes with (5 GB), without
# NVIDIA's compiler, and prints its Python. What is there in the right version is left alone.
#
#   scripts/tilegym.sh [DIR]       the environment is DIR/tilegym, DIR defaults to .tools
set -euo pipefail
. "$(dirname "$0")/venv.sh"
venv "${1:-.tools}/tilegym" "cuda-tile==1.7.0 torch==2.15.0 numpy ml_dtypes" tilegym==1.5.1
