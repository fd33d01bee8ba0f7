#!/usr/bin/env bash
# Compiles a real attention kernel to PTX, shows the head of the PTX, which says how to launch it, runs the PTX in the emulator
# on real inputs, every check on, and compares the result with the expected one.
#
#   examples/run.sh [folder of the built commands]
set -euo pipefail
bin=${1:-bin}
here=$(dirname "$0")
mkdir -p build
say() { printf '\n$ %s\n' "$*"; "$@"; }

say "$bin/tileiras" "$here/attention/kernel.tileirbc" --gpu-name sm_80 -o build/attention.ptx
say sed -n '1,/^\.visible/p' build/attention.ptx
printf '...  (%s lines)\n' "$(wc -l <build/attention.ptx)"
say "$bin/tilerun" --on emu --gpu-name sm_80 "$here/attention/case.json"
