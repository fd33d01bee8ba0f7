"""Writes mpmath.txt: values of the elementary functions of f64, rounded to nearest by mpmath (with gmpy2) from 3000 bits.

Each line is: function, bits of x, bits of y (0 for functions of one number), bits of the result. Run it in a virtual environment with
mpmath installed: python generate.py > mpmath.txt
"""

import random
import struct

import mpmath

mpmath.mp.prec = 3000
mp = mpmath.mp


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def number(b):
    return struct.unpack("<d", struct.pack("<Q", b))[0]


def nearest(v):
    """The f64 nearest to an mpf, below the normal range too, ties to even."""
    if v == 0:
        return 0.0
    sign = -1 if v < 0 else 1
    v = abs(v)
    e = int(mp.floor(mp.log(v, 2)))
    while mp.ldexp(1, e) > v:
        e -= 1
    while mp.ldexp(1, e + 1) <= v:
        e += 1
    unit = max(e - 52, -1074)
    n = int(mp.nint(mp.ldexp(v, -unit)))  # nint rounds ties to even
    if n.bit_length() + unit > 1024:
        return sign * float("inf")
    return sign * float(mp.ldexp(n, unit)) if n else sign * 0.0


def rsqrt(x):
    return 1 / mp.sqrt(x)


def atan2(y, x):
    return mp.atan2(y, x)


random.seed(20)


def anywhere(low, high, signed):
    x = 2 ** random.uniform(low, high)
    if x > 1.79e308:
        x = 1.79e308
    return -x if signed and random.random() < 0.5 else x


unary = {
    "exp": (mp.exp, [(-60, 9.5, True), (9, 9.5, True)]),
    "exp2": (lambda x: mp.power(2, x), [(-60, 10, True), (9.9, 10.06, True)]),
    "log": (mp.log, [(-1074, 1023.9, False), (-0.1, 0.1, False), (-1e-9, 1e-9, False)]),
    "log2": (lambda x: mp.log(x) / mp.log(2), [(-1074, 1023.9, False), (-0.1, 0.1, False), (-1e-9, 1e-9, False)]),
    "rsqrt": (rsqrt, [(-1074, 1023.9, False)]),
    "sin": (mp.sin, [(-1074, 1, True), (0, 30, True), (30, 1023.9, True)]),
    "cos": (mp.cos, [(-60, 1, True), (0, 30, True), (30, 1023.9, True)]),
    "tan": (mp.tan, [(-1074, 1, True), (0, 30, True), (30, 1023.9, True)]),
    "sinh": (mp.sinh, [(-1074, 9.47, True), (-3, 3, True)]),
    "cosh": (mp.cosh, [(-60, 9.47, True), (-3, 3, True)]),
    "tanh": (mp.tanh, [(-1074, 6, True), (-3, 5, True)]),
}
edges = [1.0, 0.5, 2.0, 3.0, 10.0, 1 + 2**-52, 1 - 2**-53, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 6381956970095103 * 2.0**797]


def emit(name, x, y, v):
    print(name, f"{bits(x):016x} {bits(y):016x} {bits(v):016x}")


for name, (f, ranges) in unary.items():
    for low, high, signed in ranges:
        for _ in range(150):
            x = anywhere(low, high, signed)
            emit(name, x, 0.0, nearest(f(mp.mpf(x))))
    for x in edges:
        if name in ("exp", "exp2", "sinh", "cosh") and x > 709:
            continue
        emit(name, x, 0.0, nearest(f(mp.mpf(x))))

for low, high in ((-1074, 1023), (-3, 3), (-540, 540)):
    for _ in range(150):
        y, x = anywhere(low, high, True), anywhere(low, high, True)
        emit("atan2", y, x, nearest(atan2(mp.mpf(y), mp.mpf(x))))

for low, high, ylow, yhigh in ((-3, 3, -3, 6), (-1e-6, 1e-6, 10, 29), (-1000, 1000, -60, 0), (-60, 60, 0, 4)):
    for _ in range(150):
        x, y = anywhere(low, high, False), anywhere(ylow, yhigh, True)
        emit("pow", x, y, nearest(mp.power(mp.mpf(x), mp.mpf(y))))
for _ in range(150):
    x, y = float(random.randint(1, 2000)) / random.choice((1, 2, 8, 1024)), float(random.randint(-40, 40))
    if random.random() < 0.5:
        x = -x
    emit("pow", x, y, nearest(mp.power(mp.mpf(x), int(y))))
for base, y in ((9.0, 0.5), (2.25, 1.5), (16.0, 0.25), (1 + 2.0**-26, 2.0), (2.0**54 + 2.0**2, 1.0), (3.0, -1.0)):
    emit("pow", base, y, nearest(mp.power(mp.mpf(base), mp.mpf(y))))
