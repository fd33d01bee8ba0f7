#!/usr/bin/env bash
# Installs cuTile Python from PyPI into a Python virtual environment of its own, without NVIDIA's compiler, which the front end would find before PATH, and
# prints its Python. What is there in the right version is left alone.
#
#   scripts/cutile.sh [DIR]       the environment is DIR/frontends, DIR defaults to .tools
set -euo pipefail
. "$(dirname "$0")/venv.sh"
venv "${1:-.tools}/frontends" "cuda-tile==1.7.0 numpy ml_dtypes"
