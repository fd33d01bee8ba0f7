"""torch answers as if it had a GPU, and stays on the CPU underneath.

Every device that a program names "cuda" is the CPU; every tensor says that it is on cuda:0. Streams and events are there and do nothing, because
launches have ended when they return. What needs a real GPU is refused in words.
"""
from __future__ import annotations

import contextlib
import functools
import time
import types
from typing import Any, Iterator

from tileiras.nogpu.config import Config
from tileiras.nogpu.frontend import NotWithoutGPU, device_attribute

# The properties of a device that the driver knows, as numbers of CUdevice_attribute.
ATTRIBUTES = {
    "multi_processor_count": 16, "warp_size": 10, "max_threads_per_multi_processor": 39, "regs_per_multiprocessor": 82,
    "shared_memory_per_block": 8, "shared_memory_per_block_optin": 97, "shared_memory_per_multiprocessor": 81, "L2_cache_size": 38,
}


def patch(torch: types.ModuleType, config: Config) -> None:
    """Changes torch, once."""
    if getattr(torch, "_tileiras_nogpu", False):
        return
    torch._tileiras_nogpu = True
    cpu, cuda = torch.device("cpu"), torch.device("cuda", 0)

    def on_cpu(value: Any) -> Any:
        """A device argument, with the CPU in place of a GPU."""
        if isinstance(value, torch.device) or isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
            device = torch.device(value)
            if device.type == "cuda":
                _only(device.index)
                return cpu
        return value

    class CPUMode(torch.overrides.TorchFunctionMode):
        """Sends what is asked of a GPU to the CPU."""

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            override = overrides.get(function)
            if override is not None:
                return override(function, args, kwargs)
            if "device" in kwargs:
                kwargs = {**kwargs, "device": on_cpu(kwargs["device"])}
            if function in movers:
                args = tuple(on_cpu(a) for a in args)
                kwargs.pop("non_blocking", None)
            if kwargs.get("pin_memory"):
                kwargs = {**kwargs, "pin_memory": False}
            return function(*args, **kwargs)

    tensor = torch.Tensor
    movers = {tensor.to, tensor.new_tensor}

    def to_cuda(function: Any, args: Any, kwargs: Any) -> Any:
        check_device(args[1] if len(args) > 1 else kwargs.get("device"))
        return args[0]

    def check_device(device: Any) -> None:
        """Refuses a device that is not there: a number, or what names one."""
        _only(device) if isinstance(device, int) else on_cpu(device)

    def absolute(function: Any, args: Any, kwargs: Any) -> Any:
        """CUDA's takes truth values, the CPU's does not."""
        return args[0].clone() if args and args[0].dtype == torch.bool else function(*args, **kwargs)

    def product(function: Any, args: Any, kwargs: Any) -> Any:
        """The CPU's has no out_dtype: its operands are converted first, which is what CUDA's sums in."""
        more = dict(kwargs)
        wide = more.pop("out_dtype", None)
        if wide is None and len(args) > 2 and isinstance(args[2], torch.dtype):
            wide, args = args[2], args[:2]
        if wide is None:
            return function(*args, **kwargs)
        return function(*(a.to(wide) for a in args), **more)

    overrides: dict[Any, Any] = {
        torch.abs: absolute, tensor.abs: absolute, tensor.__abs__: absolute,
        torch.mm: product, torch.bmm: product,
        tensor.cuda: to_cuda,
        tensor.pin_memory: lambda function, args, kwargs: args[0],
        tensor.device.__get__: lambda function, args, kwargs: cuda,
        tensor.is_cuda.__get__: lambda function, args, kwargs: True,
        tensor.get_device: lambda function, args, kwargs: 0,
        tensor.record_stream: lambda function, args, kwargs: None,
        tensor.is_pinned: lambda function, args, kwargs: False,
    }
    mode = CPUMode()
    mode.__enter__()
    _in_every_thread(mode)
    _modules(torch, on_cpu)
    _cuda(torch, config, cpu)
    _exports(torch)


def _in_every_thread(mode: Any) -> None:
    """Modes are of one thread: those that begin later enter it too."""
    import threading
    original = threading.Thread.run

    @functools.wraps(original)
    def run(self: threading.Thread) -> None:
        with type(mode)():
            original(self)
    threading.Thread.run = run  # type: ignore[method-assign]


def _modules(torch: Any, on_cpu: Any) -> None:
    """Parts of torch that take devices and are no functions of tensors."""
    from torch.utils._device import DeviceContext  # of set_default_device and of devices as contexts
    original_init = DeviceContext.__init__

    @functools.wraps(original_init)
    def init(self: Any, device: Any) -> None:
        original_init(self, on_cpu(device))
    DeviceContext.__init__ = init
    torch.nn.Module.cuda = lambda self, device=None: self
    original_to = torch.nn.Module.to

    @functools.wraps(original_to)
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = on_cpu(kwargs["device"])
        return original_to(self, *(on_cpu(a) for a in args), **kwargs)
    torch.nn.Module.to = to

    class Generator(torch.Generator):
        def __new__(cls, device: Any = "cpu") -> Any:
            return super().__new__(cls, device=on_cpu(device))
    torch.Generator = Generator


class Stream:
    """A stream: launches on it have ended when they return."""
    cuda_stream = 0
    device_index = 0

    def __init__(self, device: Any = None, priority: int = 0, **more: Any):
        global _streams
        self.priority = priority
        if type(self)._next is not None:
            self.cuda_stream = type(self)._next
            type(self)._next += 1

    _next: int | None = 1 << 20

    def synchronize(self) -> None: ...
    def wait_stream(self, stream: Any) -> None: ...
    def wait_event(self, event: Any) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, event: "Event | None" = None) -> "Event":
        event = event or Event()
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __enter__(self) -> "Stream":
        _current.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _current.pop()


class Event:
    """An event: the time at which it was recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **more: Any):
        if interprocess:
            raise NotWithoutGPU("events between processes need a GPU")
        self.at: float | None = None

    def record(self, stream: Any = None) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None: ...
    def wait(self, stream: Any = None) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: "Event") -> float:
        if self.at is None or end.at is None:
            raise RuntimeError("both events must be recorded before the time between them can be calculated")
        return max((end.at - self.at) * 1e3, 1e-6)


def _default_stream() -> Stream:
    stream = Stream.__new__(Stream)
    stream.priority = 0
    return stream


_default = _default_stream()
_current: list[Stream] = [_default]


def _only(device: Any) -> None:
    """Refuses every GPU but the one there is."""
    if isinstance(device, str):
        index: Any = int(device.partition(":")[2] or 0)
    else:
        index = device if isinstance(device, int) else getattr(device, "index", None)
    if index not in (None, 0, -1):
        raise NotWithoutGPU(f"there is no cuda:{index}: tileiras.nogpu has one GPU, cuda:0")


def _refuse(what: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotWithoutGPU(f"{what} need a GPU: tileiras.nogpu runs kernels one after the other on this machine")
    return refuse


class _Properties(types.SimpleNamespace):
    """Of the GPU. The driver is asked for those of ATTRIBUTES when a program reads one: that loads the library."""

    def __getattr__(self, name: str) -> int:
        if name not in ATTRIBUTES:
            raise AttributeError(f"a GPU of tileiras.nogpu has no property {name!r}", name=name, obj=self)
        setattr(self, name, value := device_attribute(ATTRIBUTES[name]))
        return value


def _cuda(torch: Any, config: Config, cpu: Any) -> None:
    """torch.cuda: one device, the GPU of the settings."""
    major, minor = divmod(int(config.gpu.removeprefix("sm_")), 10)
    properties = _Properties(
        major=major, minor=minor, name=f"tileiras without a GPU ({config.gpu})", total_memory=16 << 30, is_integrated=0, is_multi_gpu_board=0, clock_rate=1000000,
        memory_clock_rate=1000000, memory_bus_width=4096)

    @contextlib.contextmanager
    def one_device(device: Any = None) -> Iterator[None]:
        _only(device)
        yield

    def of_device(value: Any) -> Any:
        return lambda device=None: (_only(device), value)[1]

    def stream_context(stream: Any) -> Any:
        return stream if stream is not None else contextlib.nullcontext()

    class CUDAGraph:
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            _refuse("CUDA graphs")()

    def seed(value: int) -> None:
        torch.default_generator.manual_seed(int(value))

    def set_stream(stream: Stream) -> None:
        _current[-1] = stream

    answers: dict[str, Any] = dict(
        is_available=lambda: True, is_initialized=lambda: True, init=lambda: None, _lazy_init=lambda: None, device_count=lambda: 1,
        current_device=lambda: 0, set_device=_only, get_device_name=of_device(properties.name),
        get_device_capability=of_device((major, minor)), get_device_properties=of_device(properties),
        synchronize=lambda device=None: None, current_stream=lambda device=None: _current[-1], default_stream=lambda device=None: _default,
        set_stream=set_stream, stream=stream_context, device=one_device, device_of=lambda tensor: one_device(), Stream=Stream, Event=Event, ExternalStream=Stream,
        empty_cache=lambda: None, ipc_collect=_refuse("memory between processes"), memory_allocated=lambda device=None: 0,
        max_memory_allocated=lambda device=None: 0, memory_reserved=lambda device=None: 0, max_memory_reserved=lambda device=None: 0,
        reset_peak_memory_stats=lambda device=None: None, mem_get_info=lambda device=None: (16 << 30, 16 << 30),
        manual_seed=seed, manual_seed_all=seed, seed=torch.default_generator.seed, seed_all=torch.default_generator.seed,
        initial_seed=torch.default_generator.initial_seed,
        is_bf16_supported=lambda including_emulation=True: True, is_current_stream_capturing=lambda: False,
        CUDAGraph=CUDAGraph, graph=_refuse("CUDA graphs"), make_graphed_callables=_refuse("CUDA graphs"),
        can_device_access_peer=lambda device, peer: False, get_arch_list=lambda: [config.gpu],
        get_rng_state=lambda device="cuda": torch.get_rng_state(), set_rng_state=lambda state, device="cuda": torch.set_rng_state(state),
    )
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch.version.cuda = torch.version.cuda or "13.0"


def _exports(torch: Any) -> None:
    """cuTile refuses a DLPack export that is not on a GPU. Without one, it asks tensors for address, shape and strides by their methods."""
    original = torch._C._to_dlpack

    def to_dlpack(tensor: Any, **more: Any) -> Any:
        if more:
            return original(tensor, **more)
        raise BufferError("the tensor is on the CPU underneath")
    torch._C._to_dlpack = to_dlpack
