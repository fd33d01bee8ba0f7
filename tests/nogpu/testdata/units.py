"""Parts of the package that need no kernel: settings, regions of arrays, indices of addresses."""
import numpy as np

from tileiras.nogpu import arrays, config, faults


def raises(kind, call):
    try:
        call()
    except kind:
        return True
    return False


c = config.from_environment({"TILEIRAS_GPU": "sm_120", "TILEIRAS_ENGINE": "emu", "TILEIRAS_WORKERS": "3"}, engine="interp")
assert (c.gpu, c.engine, c.workers) == ("sm_120", "interp", 3)
for bad in ({"TILEIRAS_ENGINE": "gpu"}, {"TILEIRAS_CHECKS": "some"}, {"TILEIRAS_UNDEFINED": "one"}, {"TILEIRAS_WORKERS": "many"}, {"TILEIRAS_WORKERS": "-1"},
            {"TILEIRAS_WORKERS": "1024"}, {"TILEIRAS_GPU": "native"},
            {"TILEIRAS_TUNING": "best"}, {"TILEIRAS_TMA": "1"}, {"TILEIRAS_ROLES": "some"}):
    assert raises(config.ConfigError, lambda: config.from_environment(bad)), bad

base = np.arange(24, dtype=np.int32).reshape(4, 6)
for view in (base, base[1:3, 2:5], base[::-1, ::2], base.T, base[:0]):
    [a] = arrays.array_arguments(["v"], [arrays.NumpyArgument(view)])
    touched = sorted(a.address + sum(i * s for i, s in zip(at, a.strides)) for at in np.ndindex(view.shape))
    low, high = a.byte_range()
    assert (low, high) == ((touched[0], touched[-1] + 4) if touched else (a.address, a.address)), (view.shape, view.strides)
    if all(s > 0 for s in view.strides):
        for at in np.ndindex(view.shape):
            assert a.index(a.address + sum(i * s for i, s in zip(at, a.strides)) + 3) == at

x, y = base[:2], base[1:]
found = arrays.array_arguments(["x", "pair"], [arrays.NumpyArgument(x), (arrays.NumpyArgument(y), 3)])
assert [a.name for a in found] == ["x", "pair[0]"]
[(name, address, size, read_only)] = arrays.disjoint_regions(found)
assert (name, address, size, read_only) == ("x and pair[0]", base.ctypes.data, base.nbytes, False)
assert arrays.disjoint_regions(arrays.array_arguments(["e"], [arrays.NumpyArgument(base[:0])])) == []
array, index = faults.locate_element(base.ctypes.data + 4 * 7, found)
assert (array.name, index) == ("x", (1, 1))
assert faults.locate_element(base.ctypes.data + base.nbytes, found) == (found[1], None)
assert faults.user_location([{"file": "/lib/cuda/tile/_stub.py", "line": 1}, {"file": "k.py", "line": 7}]) == ("k.py", 7)

# A race where arrays overlap says so; columns beside one another share no element.
columns = arrays.array_arguments(["left", "right"], [arrays.NumpyArgument(base[:, :3]), arrays.NumpyArgument(base[:, 3:])])
fault = {"kind": "race", "message": "m", "kernel": "k", "block": [0, 0, 0], "element": None, "address": hex(base.ctypes.data + 4 * 7), "detail": "",
         "places": [], "other": None}
assert "'x' and 'pair[0]' share this memory" in str(faults.Race(fault, found)), faults.Race(fault, found)
for apart in (columns, found[:1], []):
    assert "share" not in str(faults.Race(fault, apart)), faults.Race(fault, apart)
print("ok")
