"""What cannot work without a GPU says so. Needs torch."""
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

from tileiras.nogpu import NotWithoutGPU


def says(text, do):
    try:
        do()
    except NotWithoutGPU as refusal:
        assert text in str(refusal), refusal
        return
    raise SystemExit(f"nothing says {text!r}")


x = torch.zeros(4, device="cuda")
for graph in (torch.cuda.CUDAGraph, lambda: torch.cuda.graph(None), lambda: torch.cuda.make_graphed_callables(abs, (x,))):
    says("CUDA graphs need a GPU", graph)
says("memory between processes need a GPU", torch.cuda.ipc_collect)
says("events between processes need a GPU", lambda: torch.cuda.Event(interprocess=True))
for second in (lambda: torch.cuda.set_device(1), lambda: torch.zeros(4, device="cuda:1"), lambda: x.to("cuda:1"), lambda: x.cuda(1),
               lambda: torch.nn.Linear(2, 2).to(torch.device("cuda", 1)), lambda: torch.cuda.get_device_properties(1),
               lambda: torch.cuda.device(torch.device("cuda:1")).__enter__()):
    says("there is no cuda:1", second)

# One device, however it is named.
torch.cuda.set_device(0)
with torch.cuda.device(0):
    assert torch.cuda.device_count() == 1 and x.to("cuda:0").cuda().cuda(0).device == torch.device("cuda:0")
assert torch.cuda.get_device_capability() == torch.cuda.get_device_capability("cuda") == torch.cuda.get_device_capability(0)

# Its properties are those of the GPU that is asked for, by the CUDA programming guide.
properties = torch.cuda.get_device_properties()
assert (properties.shared_memory_per_block_optin, properties.shared_memory_per_multiprocessor, properties.max_threads_per_multi_processor) == {
    "sm_86": (99 << 10, 100 << 10, 1536), "sm_90": (227 << 10, 228 << 10, 2048)}[os.environ["TILEIRAS_GPU"]], properties

# cupy, where it is installed, is refused when it is imported.
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "cupy.py").write_text("")
    program = pathlib.Path(folder) / "program.py"
    program.write_text("import cupy")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ["PYTHONPATH"]])}
    done = subprocess.run([sys.executable, "-m", "tileiras.nogpu", "-q", str(program)], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "cupy needs a GPU: without one, use numpy or torch arrays" in done.stderr, done
print("ok")
