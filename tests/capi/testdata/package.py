"""Compiles by the Python package."""
import mmap
import sys

import tileiras

with open(sys.argv[1], "rb") as f:
    source = f.read()
    mapped = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
ptx, metadata = result = tileiras.compile(source, gpu="sm_90", name=sys.argv[1], tma=False, remarks=True)
print(metadata["kernels"][0]["name"], len(ptx))


def check(what, ok):
    if not ok:
        print("wrong:", what)


check(result, result.output == ptx and result.metadata is metadata and result.diagnostics == [])
check("remarks", {"RemarkPlanSelected", "RemarkResources"} <= {r["id"] for r in result.remarks})
check("the page", result.explain.startswith("kernel " + metadata["kernels"][0]["name"]))

# Any buffer is a source, and a text.
for other in (bytearray(source), memoryview(source), memoryview(source * 2)[:len(source)], mapped):
    check(type(other), tileiras.compile(other, gpu="sm_90", name=sys.argv[1]).output == ptx)
text = tileiras.compile(source, emit="cudatile")
check(text, text.metadata is None and text.remarks == [] and text.explain == "")
check("a text", tileiras.compile(text.output.decode()).output == tileiras.compile(text.output).output)
try:
    tileiras.compile(1)
    print("wrong: a number")
except TypeError:
    pass

# What a compile that went well has to say.
warned = tileiras.compile(source, sanitize=True).diagnostics
check(warned, [(d["severity"], d["kind"]) for d in warned] == [("warning", "option")] and warned[0]["message"].startswith("sanitize has ptxas instrument"))

# A pass is looked at, and one that does not exist is no value.
check("a pass", b"entry @" in tileiras.compile(source, stop_after="convert-to-tileaa").output)

for options, error, says in (
    ({"gpu": "H100"}, tileiras.CompileError, "H100 is written sm_90"),
    ({"stop_after": "convert-to-tilea"}, tileiras.CompileError, "stop_after: there is no pass named 'convert-to-tilea' here; did you mean 'convert-to-tileaa'?"),
    ({"depth": 1}, tileiras.LibraryError, "there is no option 'depth'"),
    ({"line_info": True}, tileiras.LibraryError, "there is no option 'line_info'; did you mean 'lineinfo'?"),
    ({"slices_k": "two"}, tileiras.LibraryError, "'two' is no value of the option 'slices_k'"),
):
    try:
        tileiras.compile(source, **options)
        print("wrong:", options)
    except error as e:
        check((options, str(e)), says in str(e))
        check((options, e.__dict__), error is tileiras.LibraryError or e.code == 1 and e.diagnostics[0]["kind"] == "option")

token = tileiras.CancelToken()
check("a compile with a token", tileiras.compile(source, cancel=token, gpu="sm_90", name=sys.argv[1]).output == ptx)
token.cancel()
try:
    tileiras.compile(source, cancel=token)
    print("wrong: it was canceled")
except tileiras.CompileError as e:
    check(e.diagnostics, e.code == 5 and e.diagnostics[0]["kind"] == "canceled")
