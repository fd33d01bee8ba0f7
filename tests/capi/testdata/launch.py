"""Launches on memory of this process, through the library alone: values, faults, progress, ends, and calls that make no sense."""
import ctypes
import json
import sys
import threading
import time

lib = ctypes.CDLL(sys.argv[1])
H = ctypes.c_uint64
for name, result, *parameters in (
    ("options_new", H), ("set", ctypes.c_int, H, ctypes.c_char_p, ctypes.c_char_p), ("load", H, ctypes.c_char_p, ctypes.c_size_t, H, H),
    ("launch", H, H, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ("wait", ctypes.c_int, H, ctypes.c_int),
    ("progress", ctypes.c_int64, H, ctypes.c_void_p), ("status", ctypes.c_int, H), ("error", ctypes.c_char_p, H), ("cancel", None, H),
    ("free", ctypes.c_int, H),
):
    f = getattr(lib, "tileiras_" + name)
    f.restype, f.argtypes = result, parameters
    globals()[name] = f
part = lib.tileiras_json
part.restype, part.argtypes = ctypes.c_char_p, [H, ctypes.c_char_p]


class Region(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_uint64), ("data", ctypes.c_void_p), ("size", ctypes.c_uint64), ("read_only", ctypes.c_uint64)]


def check(what, ok):
    if not ok:
        print("wrong:", what)


# Each tile block stores its number times %k at p[4 * block + off], four of them.
SOURCE = b"""cuda_tile.module @m { entry @count(%p: tile<ptr<i32>>, %k: tile<i32>, %off: tile<i32>, %go: tile<i1>) {
  loop {
    if %go { break }
    %w, %tw = load_ptr_tko relaxed device %p : tile<ptr<i32>> -> tile<i32>, token
    continue
  }
  %x, %y, %z = get_tile_block_id : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %q = muli %x, %four : tile<i32>
  %r = addi %q, %off : tile<i32>
  %i = iota : tile<4xi32>
  %rs = reshape %r : tile<i32> -> tile<1xi32>
  %rb = broadcast %rs : tile<1xi32> -> tile<4xi32>
  %at = addi %i, %rb : tile<4xi32>
  %ps = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %pb = broadcast %ps : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %addr = offset %pb, %at : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %m = muli %x, %k : tile<i32>
  %ms = reshape %m : tile<i32> -> tile<1xi32>
  %v = broadcast %ms : tile<1xi32> -> tile<4xi32>
  %t = store_ptr_tko weak %addr, %v : tile<4xptr<i32>>, tile<4xi32> -> token
  return
} }"""

for engine in (b"interp", b"emu"):
    options = options_new()
    check("options", [set(options, n, v) for n, v in ((b"engine", engine), (b"gpu", b"sm_80"), (b"name", b"count.tileir"), (b"workers", b"2"))] == [0] * 4)
    check("options that do not exist", [set(options, n, v) for n, v in ((b"engine", b"gpu"), (b"checks", b"some"), (b"undefined", b"1"), (b"workers", b"-1"))] == [1] * 4)
    program = load(SOURCE, len(SOURCE), options, 0)
    check((engine, error(program)), status(program) == 0)
    kernels = json.loads(part(program, b"kernels"))
    check(kernels, kernels == [{"name": "count", "params": [{"type": "ptr<i32>", "size": 8}, {"type": "i32", "size": 4}, {"type": "i32", "size": 4},
                                                            {"type": "i1", "size": 1}]}])
    memory = (ctypes.c_int32 * 32)()
    regions = (Region * 1)(Region(b"p", ctypes.addressof(memory), ctypes.addressof(memory), ctypes.sizeof(memory)))

    def begin(k, offset, go, blocks=8, kernel=b"count", y=1):
        values = [ctypes.c_uint64(ctypes.addressof(memory)), ctypes.c_int32(k), ctypes.c_int32(offset), ctypes.c_uint8(go)]
        params = (ctypes.c_void_p * 4)(*(ctypes.addressof(v) for v in values))
        return launch(program, kernel, (ctypes.c_uint32 * 3)(blocks, y, y), params, regions, 1)

    for k in (1, -3):
        h = begin(k, 0, 1)
        check("the wait", wait(h, -1) == 1 and status(h) == 0 and part(h, b"fault") == b"null" and error(h) == b"")
        check("the values", list(memory) == [i // 4 * k for i in range(32)])
        total = ctypes.c_int64()
        check("the progress", progress(h, ctypes.byref(total)) == 8 and total.value == 8)
        check("the counters", json.loads(part(h, b"counters"))["blocks"] == 8)
        check("free", free(h) == 0 and free(h) == 1)
    h = begin(1, 2, 1)
    check("a fault", status(h) == 6 and b"out of bounds" in error(h))
    fault = json.loads(part(h, b"fault"))
    check(fault, fault["kind"] == "out of bounds" and fault["block"] == [7, 0, 0] and fault["places"][0]["line"] == 21 and fault["region"] == "p"
          and int(fault["address"], 16) - ctypes.addressof(memory) == fault["offset"] and 120 <= fault["offset"] <= 132)
    free(h)
    h = begin(1, 0, 0)
    check("still running", wait(h, 20) == 0)
    parts = []
    reader = threading.Thread(target=lambda: parts.append(part(h, b"fault")))
    reader.start()
    reader.join(0.02)
    check("a part of a launch that runs is waited for", reader.is_alive())
    start = time.monotonic()
    cancel(h)
    check("canceled", wait(h, 2000) == 1 and status(h) == 5 and b"canceled" in error(h))
    reader.join()
    check("the part", parts == [b"null"])
    free(h)
    free(begin(1, 0, 0))  # a launch that runs is ended by its free
    one, here = (ctypes.c_uint32 * 3)(1, 1, 1), (ctypes.c_void_p * 4)(*[ctypes.addressof(memory)] * 4)
    for what, h in (("another kernel", begin(1, 0, 1, kernel=b"other")), ("no tile block", begin(1, 0, 1, blocks=0)),
                    ("no program", launch(options, b"count", (ctypes.c_uint32 * 3)(1, 1, 1), None, None, 0)),
                    ("memory that is NULL", launch(program, b"count", one, here, (Region * 1)(Region(b"p", 0, None, 8)), 1)),
                    ("memory of -1 bytes", launch(program, b"count", one, here, (Region * 1)(Region(None, 0, ctypes.addressof(memory), 2**64 - 1)), 1)),
                    ("no parameters", launch(program, b"count", (ctypes.c_uint32 * 3)(1, 1, 1), None, regions, 1))):
        check((what, error(h)), wait(h, -1) == 1 and status(h) == 1 and error(h) != b"")
        free(h)
    total = ctypes.c_int64(-1)
    h = begin(1, 0, 1, blocks=2**24 - 1, y=2**32 - 1)
    check("the progress of a launch that cannot be", wait(h, -1) == 1 and status(h) == 1 and progress(h, ctypes.byref(total)) == 0 and total.value == 0)
    free(h)
    check("no launch", wait(options, 0) == -1 and progress(program, None) == -1)
    free(program)
    free(options)
bad = load(b"entry @k() { oops }", 19, 0, 0)
check("a bad program", status(bad) == 3 and b"oops" in error(bad) and json.loads(part(bad, b"kernels")) == [])
print("ok")
