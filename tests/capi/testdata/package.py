"""Compiles by the Python package."""
import sys

import tileiras

with open(sys.argv[1], "rb") as f:
    source = f.read()
ptx, metadata = tileiras.compile(source, gpu="sm_90", name=sys.argv[1], tma=False, remarks=True)
print(metadata["kernels"][0]["name"], len(ptx))
for options, error in (({"gpu": "H100"}, tileiras.CompileError), ({"gpu": "sm_90", "depth": 1}, tileiras.LibraryError)):
    try:
        tileiras.compile(source, **options)
        print("wrong:", options)
    except error as e:
        assert "H100 is written sm_90" in str(e) and e.code == 1 and e.diagnostics[0]["kind"] == "option" or "depth" in str(e), e
