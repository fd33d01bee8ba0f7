#!/usr/bin/env bash
# Installs cuTile Python and NVIDIA's tools from PyPI into a virtual environment and compiles the kernels of this folder through our tileiras, which
# the front end finds on PATH.
#
#   tests/frontends/run.sh FOLDER-OF-TILEIRAS FOLDER-FOR-TOOLS
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ours=$(cd "$1" && pwd)
tools=$2
bin=$("$here/../../scripts/nvidia-tools.sh" "$tools")
python=$("$here/../../scripts/cutile.sh" "$tools")
exec "$python" "$here/cutile.py" "$ours" "$bin"
