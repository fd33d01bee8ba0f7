"""Launches a kernel from Python with the CUDA driver API and nothing else:

    tileiras add.tileir --gpu-name=sm_80 -o add.ptx --metadata=add.json
    python3 launch.py add.ptx add.json
"""
import ctypes
import json
import sys
from array import array

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        sys.exit(f"{name}: CUDA error {status}")


def load(ptx_file, json_file):
    """Loads a module; returns its functions with what the metadata says of them, by name."""
    module = ctypes.c_void_p()
    with open(ptx_file, "rb") as f:
        call("cuModuleLoadData", ctypes.byref(module), f.read() + b"\0")
    kernels = {}
    with open(json_file) as f:
        for kernel in json.load(f)["kernels"]:
            function = ctypes.c_void_p()
            call("cuModuleGetFunction", ctypes.byref(function), module, kernel["name"].encode())
            if kernel["shared_dynamic"] > 48 << 10:  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                call("cuFuncSetAttribute", function, 8, kernel["shared_dynamic"])
            kernels[kernel["name"]] = (function, kernel)
    return kernels


C_TYPES = {"i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "i1": ctypes.c_bool,
           "f32": ctypes.c_float, "f64": ctypes.c_double}


def launch(kernel, tile_blocks, *arguments):
    """Launches a kernel over a grid of tile blocks. Pointers are numbers."""
    function, k = kernel
    values = []
    for p, a in zip(k["params"], arguments, strict=True):
        values.append((ctypes.c_uint64 if p["type"].startswith("ptr") else C_TYPES[p["type"]])(a))
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    grid = [n * b for n, b in zip(tile_blocks, k["blocks_per_tile"])]
    call("cuLaunchKernel", function, *grid, *k["block"], k["shared_dynamic"], None, pointers, None)


def main(ptx_file, json_file):
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    add = load(ptx_file, json_file)["add"]

    n = 1000
    a, b, c = array("f", range(n)), array("f", [0.5] * n), array("f", bytes(4 * n))
    memory = []
    for host in (a, b, c):
        p = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(p), ctypes.c_size_t(4 * n))
        call("cuMemcpyHtoD_v2", p, ctypes.c_void_p(host.buffer_info()[0]), ctypes.c_size_t(4 * n))
        memory.append(p)
    launch(add, ((n + 255) // 256, 1, 1), *(p.value for p in memory), n)
    call("cuMemcpyDtoH_v2", ctypes.c_void_p(c.buffer_info()[0]), memory[2], ctypes.c_size_t(4 * n))
    print("ok" if all(c[i] == i + 0.5 for i in range(n)) else "wrong")


main(*sys.argv[1:])
