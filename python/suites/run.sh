#!/usr/bin/env bash
# Runs the tests of a checkout of NVIDIA/cutile-python or NVIDIA/TileGym without a GPU and prints totals, with a reason for each failure that
# explained.toml knows.
#
#   python/suites/run.sh FOLDER-OF-BINARIES FOLDER-FOR-TOOLS CHECKOUT [ARGUMENT-OF-PYTEST ...]
#
# ENGINES ("interp emu"), TILEIRAS_GPU (sm_90), PART=N (every Nth test) or N+K (the Kth of the other parts), CUDA_TILE (the release of the front end;
# "" is the newest).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/venv.sh"
bin=$(cd "$1" && pwd)
tools=$(mkdir -p "$2" && cd "$2" && pwd)
suite=$(cd "$3" && pwd)
shift 3
# The tests of the checkout's main branch go with the release after the last one that its change log names.
release=${CUDA_TILE-1.6.0}
python=$(venv "$tools/nogpu" "cuda-tile${release:+==$release} numpy torch pytest pytest-timeout pytest-benchmark psutil") || { cat "$tools/nogpu/setup.log"; exit 1; }
export PYTHONPATH=$here/..:$here TILEIRAS_BIN=$bin TILEIRAS_UNDEFINED=${TILEIRAS_UNDEFINED:-zero} TILEIRAS_GPU=${TILEIRAS_GPU:-sm_90} PYTHONDONTWRITEBYTECODE=1
if [ -d "$suite/src/tilegym" ]; then
    name=tilegym tests='tests/ops tests/suites'
    echo "left out: test_perf, which measures the time of a GPU; kernels of cutile-rs and Triton, which need the front end for Rust and CUDA's driver;" \
        "FlashInfer's products of 2048 rows and more, each hours of an emulator"
    set -- -k "not test_perf and not cutile_rs and not cutile-rs and not triton and not Alpha_Beta and not MaskedBMM and not RaggedBlockScaledBMM" "$@"
    export PYTHONPATH=$PYTHONPATH:$suite/src
else
    name=cutile-python tests=test
fi
status=0
for engine in ${ENGINES:-interp emu}; do
    report=$tools/nogpu-$name-$engine
    echo "== $name on $engine, $TILEIRAS_GPU"
    rm -f "$report.xml"
    (cd "$suite" && TILEIRAS_ENGINE=$engine "$python" -m pytest -p tileiras.nogpu -p part -p no:cacheprovider -q --tb=short --timeout "${TIMEOUT:-600}" \
        -o python_files='test_*.py' --junitxml="$report.xml" $tests "$@" > "$report.log" 2>&1) || true
    if [ ! -s "$report.xml" ]; then
        echo "pytest did not end; the end of $report.log:"
        tail -n 5 "$report.log"
        status=1
        continue
    fi
    "$python" "$here/explain.py" "$name" "$engine" "$report.xml" "$here/explained.toml" || status=1
done
exit $status
