"""The stand-in for NVIDIA's driver, from several threads: what waits for a launch waits for that of another thread too."""
import ctypes
import sys
import threading
import time

lib = ctypes.CDLL(sys.argv[1])
H = ctypes.c_uint64
for name, result, *parameters in (
    ("options_new", H), ("set", ctypes.c_int, H, ctypes.c_char_p, ctypes.c_char_p), ("driver", ctypes.c_void_p, H),
    ("load", H, ctypes.c_char_p, ctypes.c_size_t, H, H),
    ("image", H, ctypes.c_char_p, ctypes.c_size_t, H), ("output", ctypes.c_void_p, H, ctypes.c_void_p), ("wait", ctypes.c_int, H, ctypes.c_int),
    ("driver_memory", None, ctypes.c_void_p, ctypes.c_size_t), ("driver_launched", H), ("status", ctypes.c_int, H), ("error", ctypes.c_char_p, H),
    ("free", ctypes.c_int, H),
):
    f = getattr(lib, "tileiras_" + name)
    f.restype, f.argtypes = result, parameters
    globals()[name] = f
FAILED, INVALID_HANDLE, NOT_SUPPORTED = 719, 400, 801


def check(what, ok):
    if not ok:
        print("wrong:", what)


options = options_new()
check("the engine", set(options, b"engine", b"interp") == 0)

# A GPU that there is not is refused by all that is asked for one; the attributes of one are those of NVIDIA's tables.
for gpu in (b"sm_999", b"sm_90a", b"H100"):
    check(gpu, set(options, b"gpu", gpu) == 0 and driver(options) is None)
    program = load(b"entry @k() { return }", 21, options, 0)
    check((gpu, error(program)), status(program) == 1 and b"names are sm_75" in error(program))
check("a GPU", set(options, b"gpu", b"sm_80") == 0)
lookup = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)(driver(options))


def cu(function, *arguments):
    """Calls a function of the driver; arguments are pointers or 64-bit numbers."""
    address = ctypes.c_void_p()
    check(function, lookup(function.encode(), ctypes.addressof(address), 13000, 0, None) == 0)
    pass_as = [a if isinstance(a, ctypes._SimpleCData) else ctypes.c_void_p(a) for a in arguments]
    return ctypes.CFUNCTYPE(ctypes.c_int)(address.value)(*pass_as)


# Waits until p[0] is not 0 and stores 7 at p[at].
SOURCE = b"""cuda_tile.module @m { entry @spin(%p: tile<ptr<i32>>, %at: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  loop {
    %w, %tw = load_ptr_tko relaxed device %p : tile<ptr<i32>> -> tile<i32>, token
    %go = cmpi not_equal %w, %zero, signed : tile<i32> -> tile<i1>
    if %go { break }
    continue
  }
  %seven = constant <i32: 7> : tile<i32>
  %q = offset %p, %at : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %q, %seven : tile<ptr<i32>>, tile<i32> -> token
  return
} }"""
check("a name", set(options, b"name", b"spin.tileir") == 0)
made = image(SOURCE, len(SOURCE), options)
check(error(made), status(made) == 0)


def image_module(function="cuModuleLoadData"):
    module = H()
    check(function, cu(function, ctypes.addressof(module), output(made, None)) == 0)
    return module


module, kernel, host = image_module(), ctypes.c_void_p(), (ctypes.c_int32 * 4)()
check("a kernel", cu("cuModuleGetFunction", ctypes.addressof(kernel), module, ctypes.c_char_p(b"spin")) == 0)
check("no kernel", cu("cuModuleGetFunction", ctypes.addressof(kernel), module, ctypes.c_char_p(b"turn")) == 500)


def allocate():
    memory = ctypes.c_void_p()
    check("memory", cu("cuMemAlloc", ctypes.addressof(memory), ctypes.c_size_t(16)) == 0)
    return memory.value


def begin(memory, at=1):
    """Begins a launch on what the driver has allocated."""
    driver_memory(ctypes.addressof(host), 0)
    values = [ctypes.c_uint64(memory), ctypes.c_int32(at)]
    params = (ctypes.c_void_p * 2)(*(ctypes.addressof(v) for v in values))
    one, none = ctypes.c_uint32(1), ctypes.c_uint32(0)
    return cu("cuLaunchKernel", kernel, one, one, one, one, one, one, none, None, ctypes.addressof(params), None)


# What NVIDIA's driver refuses is refused: memory that an allocation does not have, launches that no kernel of tiles can have, other images.
INVALID_VALUE, INVALID_IMAGE = 1, 200
p, many = allocate(), (ctypes.c_int32 * 64)()
size, words = ctypes.c_size_t, ctypes.c_uint32
for what, got in (
    ("a copy behind memory", cu("cuMemcpyHtoD", p, ctypes.addressof(many), size(17))), ("a copy from behind", cu("cuMemcpyDtoH", ctypes.addressof(many), p + 8, size(9))),
    ("a copy of more than there is", cu("cuMemcpyHtoDAsync", p, ctypes.addressof(many), size(2**64 - 8), None)), ("a copy to NULL", cu("cuMemcpyHtoD", None, ctypes.addressof(many), size(4))),
    ("bytes", cu("cuMemsetD8", p + 15, words(1), size(2))), ("words", cu("cuMemsetD32", p, words(1), size(5))), ("words of too many bytes", cu("cuMemsetD32", p, words(1), size(2**62 + 1))),
    ("no memory", cu("cuMemAlloc", ctypes.addressof(many), size(0))),
):
    check((what, got), got == INVALID_VALUE)
check("copies of nothing", cu("cuMemcpyHtoD", None, None, size(0)) == 0)
check("copies in bounds", cu("cuMemcpyHtoD", p + 8, ctypes.addressof(many), size(8)) == 0 and cu("cuMemsetD32", p, words(0), size(4)) == 0)
value = ctypes.c_uint64(p)
params, half = ((ctypes.c_void_p * 2)(ctypes.addressof(value), q) for q in (ctypes.addressof(value), None))
for what, grid, block, shared, with_params in (
    ("no block", (1, 0, 1), (1, 1, 1), 0, params), ("threads", (1, 1, 1), (128, 1, 1), 0, params),
    ("shared memory", (1, 1, 1), (1, 1, 1), 1 << 30, params), ("no parameters", (1, 1, 1), (1, 1, 1), 0, None), ("one parameter", (1, 1, 1), (1, 1, 1), 0, half),
):
    for own in (0, 1) if what in ("threads", "shared memory") else (0,):  # else the launch begins, and says what is wrong with it
        driver_memory(ctypes.addressof(host) if own else None, 0)
        got = cu("cuLaunchKernel", kernel, *map(words, grid + block), words(shared), None, ctypes.addressof(with_params) if with_params else None, None)
        check((what, own, got), got == INVALID_VALUE)
other = H()
for text in (b".version 8.0", b"tileiras", b"\x7fELF"):
    check(text, cu("cuModuleLoadData", ctypes.addressof(other), ctypes.c_char_p(text)) == INVALID_IMAGE)

events = [ctypes.c_void_p() for _ in range(3)]
for e in events:
    check("an event", cu("cuEventCreate", ctypes.addressof(e), 0) == 0)
library = image_module("cuLibraryLoadData")
for what in (
    lambda p, more: cu("cuStreamSynchronize", None), lambda p, more: cu("cuCtxSynchronize"), lambda p, more: cu("cuEventRecord", events[0], None),
    lambda p, more: cu("cuMemFree", more), lambda p, more: cu("cuMemcpyHtoDAsync", more, ctypes.addressof(host), ctypes.c_size_t(16), None),
    lambda p, more: cu("cuMemcpyDtoH", ctypes.addressof(host), p, ctypes.c_size_t(16)),
    lambda p, more: cu("cuMemcpyDtoD", more, p, ctypes.c_size_t(16)), lambda p, more: cu("cuMemsetD32", p, ctypes.c_uint32(7), ctypes.c_size_t(4)),
    lambda p, more: cu("cuLibraryUnload", library), lambda p, more: begin(p, 2),
):
    p, more, answers = allocate(), allocate(), []
    words = (ctypes.c_int32 * 4).from_address(p)
    check("a launch", begin(p) == 0)
    other = threading.Thread(target=lambda: (answers.append(what(p, more)), answers.append(words[1])))
    other.start()
    other.join(0.05)
    line = what.__code__.co_firstlineno
    check((line, "returns while the kernel of another thread runs"), other.is_alive())
    words[0] = 1
    other.join()
    check((line, answers), answers == [0, 7])
    h = driver_launched()
    check((line, error(h)), wait(h, 0) == 1 and status(h) == 0)
    free(h)
check("a copy", cu("cuCtxSynchronize") == 0 and cu("cuMemcpyDtoH", ctypes.addressof(host), p, ctypes.c_size_t(16)) == 0 and list(host) == [1, 7, 7, 0])
check("a fill", cu("cuMemsetD8", p, ctypes.c_uint32(1), ctypes.c_size_t(4)) == 0 and words[0] == 0x01010101 and words[1] == 7)

# A launch that failed is heard of by every thread that waits, until somebody has taken and freed it.
check("a launch out of bounds", begin(p, 1 << 20) == 0)
answers = []
for _ in range(2):
    other = threading.Thread(target=lambda: answers.append(cu("cuStreamSynchronize", None)))
    other.start()
    other.join()
check(answers, answers == [FAILED, FAILED])
h = driver_launched()
check(("the fault", error(h)), status(h) == 6 and b"spin.tileir:11:" in error(h))  # the image has the name of its source
free(h)
check("nothing is left of it", cu("cuStreamSynchronize", None) == 0)

ms = ctypes.c_float()
cu("cuEventRecord", events[0], None)
time.sleep(0.02)
cu("cuEventRecord", events[1], None)
check("the time between events", cu("cuEventElapsedTime", ctypes.addressof(ms), events[0], events[1]) == 0 and 20 <= ms.value < 60000)
check("an event that was not recorded", cu("cuEventElapsedTime", ctypes.addressof(ms), events[0], events[2]) == INVALID_HANDLE)
check("what there is not", cu("cuGraphCreate", None, 0) == NOT_SUPPORTED)

# The capability of a device, the shared memory of a block, of one that asks for more, and of a multiprocessor, its threads, its blocks.
for gpu, attributes in ((b"sm_75", [7, 5, 48, 64, 64, 1024, 16]), (b"sm_80", [8, 0, 48, 163, 164, 2048, 32]), (b"sm_86", [8, 6, 48, 99, 100, 1536, 16]),
                        (b"sm_90", [9, 0, 48, 227, 228, 2048, 32]), (b"sm_120", [12, 0, 48, 99, 100, 1536, 24])):
    check(gpu, set(options, b"gpu", gpu) == 0 and driver(options) is not None)
    values = []
    for number in (75, 76, 8, 97, 81, 39, 106):
        value = ctypes.c_int()
        check(number, cu("cuDeviceGetAttribute", ctypes.addressof(value), ctypes.c_int(number), ctypes.c_int(0)) == 0)
        values.append(value.value >> 10 if number in (8, 97, 81) else value.value)
    check((gpu, values), values == attributes)
made = image(SOURCE, len(SOURCE), options)
check("an image", status(made) == 0)
set(options, b"gpu", b"sm_999")
made = image(SOURCE, len(SOURCE), options)
check(("an image for a GPU that there is not", error(made)), status(made) == 1)
print("ok")
