"""What a Python process imports first that a program under tileiras.nogpu has started: its kernels run here too."""
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _here]
_this = sys.modules.pop("sitecustomize", None)
try:
    if importlib.util.find_spec("sitecustomize") is not None:
        importlib.import_module("sitecustomize")  # the one of the machine
except ImportError:
    pass
if _this is not None:
    sys.modules.setdefault("sitecustomize", _this)  # what is being imported must be there at its end

from tileiras.nogpu import enable  # noqa: E402

if importlib.util.find_spec("cuda") is not None:
    enable()
