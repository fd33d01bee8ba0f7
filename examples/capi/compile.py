"""The C library of tileiras from Python, with ctypes alone.

    python3 compile.py LIBRARY kernel.tileirbc sm_90 > kernel.ptx
"""
import ctypes
import json
import sys


class CompileError(Exception):
    def __init__(self, message, code, diagnostics):
        super().__init__(message)
        self.code = code
        self.diagnostics = diagnostics


def text_of(value):
    """An option as the library reads it: truth values are 0 and 1."""
    return str(int(value) if isinstance(value, bool) else value).encode()


class Compiler:
    """One loaded library. Its methods may be called from any thread."""

    def __init__(self, path):
        lib = self._lib = ctypes.CDLL(path)
        handle, text = ctypes.c_uint64, ctypes.c_char_p
        for name, result, arguments in (
            ("abi", ctypes.c_int, []),
            ("build", text, []),
            ("options_new", handle, []),
            ("set", ctypes.c_int, [handle, text, text]),
            ("compile", handle, [text, ctypes.c_size_t, handle, handle]),
            ("status", ctypes.c_int, [handle]),
            ("output", ctypes.c_void_p, [handle, ctypes.POINTER(ctypes.c_size_t)]),
            ("error", text, [handle]),
            ("json", text, [handle, text]),
            ("free", ctypes.c_int, [handle]),
        ):
            function = getattr(lib, "tileiras_" + name)
            function.restype, function.argtypes = result, arguments
        if lib.tileiras_abi() != 2:
            raise OSError(f"{path} has interface {lib.tileiras_abi()}, this module was written for 2")

    def compile(self, source, **options):
        """Compiles bytes of Tile IR; returns the output as bytes and how to launch the kernels as a dictionary."""
        lib = self._lib
        handle = lib.tileiras_options_new()
        result = 0
        try:
            for name, value in options.items():
                if lib.tileiras_set(handle, name.encode(), text_of(value)):
                    raise ValueError(f"no option {name}={value}")
            result = lib.tileiras_compile(source, len(source), handle, 0)
            code = lib.tileiras_status(result)
            if code:
                raise CompileError(lib.tileiras_error(result).decode(), code, self._json(result, b"diagnostics"))
            size = ctypes.c_size_t()
            data = lib.tileiras_output(result, ctypes.byref(size))
            return ctypes.string_at(data, size.value), self._json(result, b"metadata")
        finally:
            lib.tileiras_free(result)
            lib.tileiras_free(handle)

    def _json(self, result, part):
        return json.loads(self._lib.tileiras_json(result, part).decode())


if __name__ == "__main__":
    library, file, gpu = sys.argv[1:]
    with open(file, "rb") as f:
        source = f.read()
    try:
        ptx, metadata = Compiler(library).compile(source, gpu=gpu, name=file)
    except CompileError as e:
        sys.exit(str(e))
    sys.stdout.buffer.write(ptx)
    for kernel in metadata["kernels"]:
        print(kernel["name"], kernel["block"], kernel["shared_dynamic"], file=sys.stderr)
