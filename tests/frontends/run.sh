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
# NVIDIA's package nvidia-cuda-tileiras would be found before PATH, so the front end gets an environment without it.
python=$tools/frontends/bin/python
if [ "$(cat "$tools/frontends/packages" 2>/dev/null)" != cuda-tile==1.7.0 ]; then
    python3 -m venv "$tools/frontends"
    "$python" -m pip install --quiet --disable-pip-version-check --no-input cuda-tile==1.7.0 numpy
    echo cuda-tile==1.7.0 > "$tools/frontends/packages"
fi
exec "$python" "$here/cutile.py" "$ours" "$bin"
