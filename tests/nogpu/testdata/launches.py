"""Launches as programs make them: arguments of every kind, errors of the front end, Ctrl-C, children, memory."""
import ctypes
import io
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading

import cuda.tile as ct
import numpy as np

from cuda.tile import _cext
from cuda.tile._load_libcuda import _cuGetProcAddress_v2

from tileiras.nogpu import KernelFault, OutOfBounds, ReadOnly


@ct.kernel
def checked(x):
    ct.assert_(ct.load(x, (0,), (4,)) > 0, "x is positive")


# What an assertion says is printed too, as compiled code prints it.
if sys.argv[1:] == ["checked"]:
    ct.launch(0, (1,), checked, (np.array([1, 2, 0, 4], np.int32),))
done = subprocess.run([sys.executable, __file__, "checked"], capture_output=True, text=True)
line = checked._pyfunc.__code__.co_firstlineno + 2
assert done.stdout.endswith(f"launches.py:{line}: tile block: [0, 0, 0], position: [2]: x is positive\n"), done
assert "AssertionFailed: assertion: x is positive" in done.stderr, done


@ct.kernel
def axpy(xs, y, a: float, flag: bool, N: ct.Constant[int]):
    t = ct.load(y, (ct.bid(0),), (N,))
    for i in range(len(xs)):
        t = t + ct.load(xs[i], (ct.bid(0),), (N,)) * a
    if flag:
        t = -t
    ct.store(y, (ct.bid(0),), t)


xs = [np.full(64, i, np.float32) for i in (1, 2, 3)]
for flag in (False, True):
    y = np.ones(64, np.float32)
    ct.launch(0, (4,), axpy, (xs, y, 0.5, flag, 16))
    np.testing.assert_array_equal(y, -4.0 if flag else 4.0)


@ct.kernel
def transpose(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(1), ct.bid(0)), ct.transpose(ct.load(x, (ct.bid(0), ct.bid(1)), (T, T))))


for dtype in (np.float16, np.float64, np.int8, np.uint32, np.int64, np.bool_):  # a view with strides, and what is around it stays
    base = (np.arange(40 * 50).reshape(40, 50) % 7).astype(dtype)
    out = np.zeros((60, 48), dtype)
    x, y = base[1:33:2, 3:35], out[4:36, 2:18]
    ct.launch(0, (2, 4), transpose, (x, y, 8))
    np.testing.assert_array_equal(y, x.T)
    assert np.count_nonzero(out) == np.count_nonzero(y)


# Memory that numpy may not write is read, but not written: not by a store, not by an atomic operation, and not where nothing could be stored at all.
@ct.kernel
def add_to(x, y, atomic: ct.Constant[bool]):
    t = ct.load(x, (0,), (4,))
    if atomic:
        ct.atomic_add(y, ct.arange(4, dtype=ct.int32), t)
    else:
        ct.store(y, (0,), t)


constant = np.frombuffer(bytes(16), np.int32)
with tempfile.TemporaryDirectory() as folder:
    np.save(folder + "/constant.npy", np.zeros(4, np.int32))
    for read_only in (constant, np.load(folder + "/constant.npy", mmap_mode="r")):
        ct.launch(0, (1,), add_to, (read_only, np.ones(4, np.int32), False))
        for atomic in (False, True):
            try:
                ct.launch(0, (1,), add_to, (np.ones(4, np.int32), read_only, atomic))
            except ReadOnly as fault:
                assert "read-only memory 'y'" in str(fault) and fault.line == add_to._pyfunc.__code__.co_firstlineno + (4 if atomic else 6), fault
            else:
                raise AssertionError("memory that may only be read was written")
            assert not read_only.any()
both = np.zeros(8, np.int32)
alias = both[4:]
alias.flags.writeable = False
ct.launch(0, (1,), add_to, (alias, both, False))  # one array, of which only one argument may be written

try:
    ct.launch(0, (1,), add_to, (np.ones(4, np.int32)[::-1], both, False))
except ValueError as e:
    assert str(e) == "x has strides (-4,): cuTile takes no array with a negative one", e
else:
    raise AssertionError("an array with a negative stride is taken")


class OnlyDLPack:
    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **asked):
        return self.array.__dlpack__()


try:
    ct.launch(0, (1,), add_to, (OnlyDLPack(np.full(4, 7, np.int32)), both, False))
except ValueError as e:
    assert str(e) == "Input array is not on a CUDA device", e  # as the front end says it
else:
    raise AssertionError("an array of a CPU that is not numpy's is taken")

# What the front end refuses stays its own error.


@ct.kernel
def refused(x):
    ct.store(x, (0,), ct.load(x, (0,), (4,)) // 3)  # of unsigned numbers, as no compiler of Tile IR takes it


try:
    ct.launch(0, (1,), refused, (np.zeros(4, np.uint32),))
except ct.TileCompilerExecutionError as e:
    line = refused._pyfunc.__code__.co_firstlineno + 2
    assert "'negative_inf' is not allowed" in str(e) and re.search(rf'launches\.py", line {line}, col 23(-\d+)?, in refused:', str(e)), str(e)
else:
    raise AssertionError("unsigned floor division compiles")

for arguments, kind in (((np.zeros(4, np.float32),), TypeError), ((np.zeros(4, "U3"), np.zeros(4), 8), Exception)):
    try:
        ct.launch(0, (1,), transpose, arguments)
        raise SystemExit(f"{arguments} was taken")
    except KernelFault:
        raise
    except kind:
        pass


@ct.kernel
def spin(x):
    while ct.atomic_add(x, 0, 0) == 0:
        pass


# Ctrl-C ends a launch and leaves the process usable.
x = np.zeros(1, np.int32)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    ct.launch(0, (1,), spin, (x,))
    raise SystemExit("the launch ended by itself")
except KeyboardInterrupt:
    pass
ct.launch(0, (1,), spin, (np.ones(1, np.int32),))


# Autotuning with a time limit ends a configuration that hangs, and goes on with the others.
tuned = ct.tune.exhaustive_search([0, 1, 2], 0, grid_fn=lambda config: (1,), kernel=spin, args_fn=lambda config: (np.full(1, config, np.int32),),
                                  quiet=True, single_run_timeout_sec=0.05)
if os.environ["TILEIRAS_TUNING"] == "all":
    assert [(config, kind.__name__) for config, kind, _ in tuned.failures] == [(0, "TileLaunchTimeoutError")], tuned
assert [measure.config for measure in tuned.successes] == ([1] if os.environ["TILEIRAS_TUNING"] == "first" else [1, 2]), tuned


@ct.kernel
def poke(x, at):
    ct.scatter(x, at, 1, check_bounds=False)


x = np.zeros(10, np.int32)
for at, inside in ((9, True), (10, False), (-1, False), (0, True)):
    try:
        ct.launch(0, (1,), poke, (x, at))
        assert inside
    except OutOfBounds as fault:
        assert not inside and fault.array.name == "x" and fault.block == (0, 0, 0) and fault.file == __file__, fault
assert list(np.nonzero(x)[0]) == [0, 9]


# A fault in a kernel that takes a list, for which the front end allocates memory and frees it, is raised too.
@ct.kernel
def beyond(xs, y):
    ct.scatter(y, ct.load(xs[1], (0,), (1,)), 1, check_bounds=False)


for at in (3, 4):
    try:
        y = np.zeros(4, np.int32)
        ct.launch(0, (1,), beyond, ([np.zeros(1, np.int32), np.full(1, at, np.int32)], y))
        assert at == 3 and y[3] == 1
    except OutOfBounds as fault:
        assert at == 4 and fault.array.name == "y", fault

# The measure of autotuning runs the kernel each time it is asked for by itself.
y = np.zeros(64, np.float32)
for n in (1, 2):
    assert _cext._benchmark(0, (4,), axpy, ([np.ones(64, np.float32)], y, 1.0, False, 16)) > 0
    assert y[0] == n, y[0]

# A host that launches by the driver's functions alone says nothing of memory, and may touch that of the process.
def driver(name, *arguments):
    at = ctypes.c_void_p()
    assert _cuGetProcAddress_v2(name, ctypes.byref(at), 12000, ctypes.c_uint64(0), None) == 0
    return ctypes.CFUNCTYPE(ctypes.c_int)(at.value)(*arguments)


@ct.kernel
def put(x, v):
    ct.scatter(x, 3, v)


c = ct.compilation
array = c.ArrayConstraint(ct.int32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False, stride_constant=(1,))
signature = c.KernelSignature(parameters=[array, c.ScalarConstraint(ct.int32)], calling_convention=c.CallingConvention.cutile_python_v1(), symbol="put")
image = io.BytesIO()
c.export_kernel(put, [signature], image, gpu_code="sm_90", output_format="cubin")
bytecode = io.BytesIO()
c.export_kernel(put, [signature], bytecode, output_format="tileir_bytecode", bytecode_version="13.3")
assert bytecode.getvalue()[:8] == b"\x7fTileIR\0", bytecode.getvalue()[:8]
program, kernel = ctypes.c_void_p(), ctypes.c_void_p()
assert driver(b"cuLibraryLoadData", ctypes.byref(program), image.getvalue(), None, None, 0, None, None, 0) == 0
assert driver(b"cuLibraryGetKernel", ctypes.byref(kernel), program, b"put") == 0
x = np.zeros(8, np.int32)
values = [ctypes.c_void_p(x.ctypes.data), ctypes.c_int32(8), ctypes.c_int32(1), ctypes.c_int32(5)]
table = (ctypes.c_void_p * 4)(*(ctypes.addressof(v) for v in values))
assert driver(b"cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, table, None) == 0
assert list(x) == [0, 0, 0, 5, 0, 0, 0, 0], x

# Threads launch in turn: the one that waits for its turn does not keep Ctrl-C from the kernel that hangs.
word, turns = np.zeros(1, np.int32), []
waiting = threading.Thread(target=lambda: (ct.launch(0, (1,), spin, (np.ones(1, np.int32),)), turns.append("other")))
threading.Timer(0.2, waiting.start).start()
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    ct.launch(0, (1,), spin, (word,))
except KeyboardInterrupt:
    turns.append("this")
waiting.join()
assert turns == ["this", "other"], turns

# What is wrong with a launch is said with the name of the kernel.
try:
    ct.launch(0, (0,), spin, (word,))
    raise AssertionError("a grid of 0")
except RuntimeError as e:
    assert str(e).startswith("kernel spin: grid [0 1 1]: x is 1 to "), e

# Many launches of a small kernel keep no memory.
y = np.zeros(16, np.float32)
one = [np.ones(16, np.float32)]
for n in range(2000):
    ct.launch(0, (1,), axpy, (one, y, 1.0, False, 16))
    if n == 500:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert y[0] == 2000
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 20_000, f"{grown} KB more after 1500 launches"

# A Python process that this one starts runs kernels here too, and says nothing else.
if len(sys.argv) == 1:
    child = "import cuda.tile as ct, numpy as np\nfrom tileiras.samples import vector_add\nvector_add.main()"
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("vector_add: right\n", ""), done
print("ok")
