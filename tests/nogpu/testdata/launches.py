"""Launches as programs make them: arguments of every kind, errors of the front end, Ctrl-C, children, memory."""
import os
import resource
import signal
import subprocess
import sys
import threading

import cuda.tile as ct
import numpy as np

from tileiras.nogpu import KernelFault, OutOfBounds


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


# What the front end refuses stays its own error.
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

# A Python process that this one starts runs kernels here too.
if len(sys.argv) == 1:
    child = "import cuda.tile as ct, numpy as np\nfrom tileiras.samples import vector_add\nvector_add.main()"
    assert subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout == "vector_add: right\n"
print("ok")
