"""Calls that make no sense are refused and break nothing."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../examples/capi"))
from compile import CompileError, Compiler

compiler = Compiler(sys.argv[1])
lib = compiler._lib


def check(what, ok):
    if not ok:
        print("wrong:", what)


options = lib.tileiras_options_new()
check("an unknown name", lib.tileiras_set(options, b"color", b"red") == 1)
check("a number that is none", lib.tileiras_set(options, b"memory_limit", b"much") == 1)
check("a level that is none", lib.tileiras_set(options, b"opt", b"7") == 1)
check("no name", lib.tileiras_set(options, None, b"1") == 1)
check("a handle of nothing", lib.tileiras_set(12345, b"gpu", b"sm_80") == 1)
check("another kind of handle", lib.tileiras_status(options) == 1)
check("output of nothing", lib.tileiras_output(0, None) is None)
check("error of nothing", lib.tileiras_error(options) is None)

result = lib.tileiras_compile(None, 10, options, 0)
check("no source", lib.tileiras_status(result) == 1 and b"source is NULL" in lib.tileiras_error(result))
lib.tileiras_free(result)
result = lib.tileiras_compile(b"entry", 2**64 - 1, options, 0)
check("the size -1", lib.tileiras_status(result) == 1 and b"18446744073709551615 bytes" in lib.tileiras_error(result))
check("another part", lib.tileiras_json(result, b"poetry") is None)
check("metadata of an error", lib.tileiras_json(result, b"metadata") == b"null")
lib.tileiras_free(result)
check("a freed result", lib.tileiras_error(result) is None)
result = lib.tileiras_compile(b"", 0, result, 0)
check("a freed handle as options", lib.tileiras_status(result) == 1 and b"no handle of options" in lib.tileiras_error(result))

for source, options, code, kind in (
    (b"", {"gpu": "sm_80"}, 3, "bytecode"),
    (b"entry @k() { oops }", {"gpu": "sm_80"}, 3, "text"),
    (b"entry @k() { return }", {"gpu": "H100"}, 1, "option"),
    (b"entry @k() { return }", {"gpu": "sm_80", "slices_k": 3}, 1, "option"),
    (b"entry @k() { return }", {"gpu": "sm_80", "memory_limit": 10}, 5, "memory"),
):
    try:
        compiler.compile(source, **options)
        check(options, False)
    except CompileError as e:
        check((options, e.code, e.diagnostics), e.code == code and e.diagnostics[0]["kind"] == kind)

result = lib.tileiras_compile(b"entry @k() { return } \xff", 24, 0, 0)
check("bytes that are no text", lib.tileiras_status(result) == 3 and lib.tileiras_error(result).decode() and lib.tileiras_json(result, b"diagnostics").decode())
lib.tileiras_free(result)
options = lib.tileiras_options_new()
lib.tileiras_set(options, b"name", b"a\xff.tileir")
result = lib.tileiras_compile(b"entry @k() { oops }", 19, options, 0)
check("a name that is no text", "a\ufffd.tileir" in lib.tileiras_error(result).decode())
lib.tileiras_free(result)
lib.tileiras_free(options)

ptx, metadata = compiler.compile(b"entry @k(%n: tile<i32>) { return }", gpu="sm_80")
check("an empty kernel", b".entry k(" in ptx and metadata["kernels"][0]["params"][0] == {"name": "n", "type": "i32", "ptx": ".u32", "size": 4})
print("ok")
