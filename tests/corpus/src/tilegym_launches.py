"""Launches of wrappers of cuTile kernels become benchmark kernels, without a GPU: tensors lie on the CPU and are never read, and each launch that a wrapper asks for
becomes a folder with bytecode and bench.json, as perf.py writes them. For tilegym_kernels.py, which says what is launched.
"""
import ast
import contextlib
import hashlib
import inspect
import json
import math
import os
import re
import sys
import textwrap
import time
import traceback
import types

FOLDER = sys.argv[1]
SM = int(os.environ["AS_SM"])                     # the device that wrappers believe in
COUNT = 108                                       # multiprocessors; a grid that is a multiple of it counts as persistent
if not os.environ.get("TUNE"):
    os.environ["TILEGYM_DISABLE_AUTOTUNE"] = "1"

import torch
from torch.overrides import TorchFunctionMode

import cuda.tile as ct
import cuda.tile._compile as compiler
import cuda.tile.tune
from cuda.tile._annotated_function import HeterogeneousTupleNode, HomogeneousTupleNode
from cuda.tile.compilation import (ArrayConstraint, CallingConvention, ConstantConstraint, KernelSignature, ListConstraint, ScalarConstraint,
                                   TupleConstraint)

# ---------------------------------------------------------------------------------------------------------------------------------------------
# A device that is not there. Tensors lie on the CPU, untouched, so that they cost no memory; what would compute with large ones does not.

PROPERTIES = types.SimpleNamespace(multi_processor_count=COUNT, name="none", major=SM // 10, minor=SM % 10, total_memory=80 << 30,
                                   L2_cache_size=40 << 20, shared_memory_per_block_optin=99 << 10, max_threads_per_multi_processor=1536,
                                   warp_size=32, regs_per_multiprocessor=65536)


class Stream:
    cuda_stream = 0

    def __init__(self, *args, **kw):
        pass

    def synchronize(self):
        pass

    wait_stream = record_event = wait_event = lambda self, *args: None


for name, value in {"get_device_capability": lambda *a: (SM // 10, SM % 10), "get_device_properties": lambda *a: PROPERTIES,
                    "current_stream": lambda *a: Stream(), "default_stream": lambda *a: Stream(), "Stream": Stream, "is_available": lambda: True,
                    "current_device": lambda: 0, "device_count": lambda: 1, "synchronize": lambda *a: None, "empty_cache": lambda: None,
                    "get_device_name": lambda *a: "none", "device": lambda *a: contextlib.nullcontext(),
                    "stream": lambda *a: contextlib.nullcontext(), "is_bf16_supported": lambda *a: True,
                    "mem_get_info": lambda *a: (70 << 30, 80 << 30)}.items():
    setattr(torch.cuda, name, value)
torch.Tensor.is_cuda = property(lambda t: True)

COMPUTE = {"matmul", "__matmul__", "mm", "bmm", "addmm", "baddbmm", "linear", "conv2d", "softmax", "log_softmax", "einsum", "randn", "rand",
           "rsqrt", "pow", "mean", "exp", "conv2d_input", "conv2d_weight"}


class Device(TorchFunctionMode):
    """Tensors of device cuda lie on the CPU."""

    def __torch_function__(self, func, kinds, args=(), kw=None):
        kw = dict(kw or {})
        if "cuda" in str(kw.get("device")):
            kw["device"] = "cpu"
        if "cuda" in str(args[1:2]) and getattr(func, "__name__", "") == "to":
            args = (args[0], "cpu", *args[2:])
        if getattr(func, "__name__", "") == "cuda":
            return args[0]
        kw.pop("pin_memory", None)
        if getattr(func, "__name__", "") in COMPUTE and any(isinstance(a, torch.Tensor) and a.numel() > 1 << 20 for a in args):
            meta = lambda v: v.to("meta") if isinstance(v, torch.Tensor) else v
            kw.pop("out", None)
            r = func(*map(meta, args), **{k: meta(v) for k, v in kw.items()})
            return torch.empty_strided(r.shape, r.stride(), dtype=r.dtype) if isinstance(r, torch.Tensor) else r
        return func(*args, **kw)


# ---------------------------------------------------------------------------------------------------------------------------------------------
# What a kernel reads and writes, by its source.

READS, WRITES = re.compile("load|gather|atomic"), re.compile("store|scatter|atomic")


def base(node):
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def accesses(function, params, depth=0):
    """(read, written) parameters of `function`, whose own names are mapped by `params` to sets of names."""
    function = inspect.unwrap(function)
    read, written = set(), set()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return set().union(*params.values()), set()
    known = dict(params)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            pairs = [(node.targets[0], node.value)]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts))
            for t, v in pairs:
                method = v.func.attr if isinstance(v, ast.Call) and isinstance(v.func, ast.Attribute) else ""
                if isinstance(t, ast.Name) and base(v) in known and not READS.search(method):
                    known[t.id] = known.get(t.id, set()) | known[base(v)]
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name, target = None, None
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            owner = base(node.func.value)
            if owner in known:
                target = known[owner]
            elif node.args:
                target = known.get(base(node.args[0]))
        elif isinstance(node.func, ast.Name):
            callee = scope.get(node.func.id)
            callee = getattr(callee, "_pyfunc", callee)
            if isinstance(callee, types.FunctionType) and depth < 6:
                names = list(inspect.signature(inspect.unwrap(callee)).parameters)
                bound = {n: known[base(a)] for n, a in zip(names, node.args) if base(a) in known}
                bound.update({k.arg: known[base(k.value)] for k in node.keywords if base(k.value) in known})
                if bound and not hasattr(callee, "_cutile_python_stub"):
                    r, w = accesses(callee, bound, depth + 1)
                    read |= r
                    written |= w
        if name and target:
            if READS.search(name):
                read |= target
            if WRITES.search(name):
                written |= target
    return read, written


# ---------------------------------------------------------------------------------------------------------------------------------------------
# A launch becomes a benchmark kernel.

TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.float8_e4m3fn: "f8e4m3fn",
         torch.float8_e5m2: "f8e5m2", torch.float8_e8m0fnu: "f8e8m0fnu", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
         torch.int64: "i64", torch.uint8: "u8", torch.uint16: "u16", torch.uint32: "u32", torch.bool: "bool"}
TILE = {"f16": ct.float16, "bf16": ct.bfloat16, "f32": ct.float32, "f64": ct.float64, "f8e4m3fn": ct.float8_e4m3fn, "f8e5m2": ct.float8_e5m2,
        "f8e8m0fnu": ct.float8_e8m0fnu, "i8": ct.int8, "i16": ct.int16, "i32": ct.int32, "i64": ct.int64, "u8": ct.uint8, "u16": ct.uint16,
        "u32": ct.uint32, "bool": ct.bool_}
CONSTANT = {torch.float16: ct.float16, torch.bfloat16: ct.bfloat16, torch.float32: ct.float32, torch.float8_e4m3fn: ct.float8_e4m3fn,
            torch.float8_e5m2: ct.float8_e5m2, torch.int32: ct.int32}


def extent(t):
    return 1 + sum((d - 1) * s for d, s in zip(t.shape, t.stride())) if t.numel() else 0


def array(t, annotation=None, in_list=False):
    """What a launch lets the front end assume of an array (class Arr of tests/corpus/src/corpuslib.py)."""
    e = t.element_size()
    ann = annotation.element if in_list and annotation else annotation
    more = {} if in_list else {"shape_divisible_by": [16 if d and d % 16 == 0 else 1 for d in t.shape]}
    return ArrayConstraint(TILE[TYPES[t.dtype]], t.dim(), index_dtype=getattr(ann, "index_dtype", None) or ct.int32,
                           stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
                           stride_constant=[1 if s == 1 else None for s in t.stride()],
                           stride_divisible_by=[max(1, 16 // e) if s != 1 and s * e % 16 == 0 else 1 for s in t.stride()],
                           base_addr_divisible_by=16 if t.storage_offset() * e % 16 == 0 else e, **more)


class Launch:
    def __init__(self, kernel, grid, args):
        self.kernel, self.grid, self.args = kernel, [int(g) for g in grid], args
        ann = kernel._annotated_function
        self.names = list(ann.pysig.parameters)
        self.named = dict(zip(self.names, args))
        tensors = {n: {n} for n, a in self.named.items() if isinstance(a, (torch.Tensor, list, tuple))}
        self.read, self.written = accesses(ann.pyfunc, tensors)
        self.params, self.buffers, self.bytes = [], {}, 0
        self.constraints = [self.argument(a, n, node) for a, n, node in zip(args, self.names, ann.parameter_annotations, strict=True)]

    def tensor(self, t, name, owner):
        kind = TYPES[t.dtype]
        out, used = owner in self.written, owner in self.written or owner in self.read
        init = {"kind": "zeros"} if out or not used else {"kind": "normal", "std": 1.0}
        if not out and used and kind[0] in "iub" and kind != "bf16":
            init = {"kind": "uniform_int", "lo": 0, "hi": LIMITS.get(owner, 2)}
        if init["kind"] in ("normal", "uniform_int"):
            init["seed"] = len(self.buffers) + 1
        self.buffers[name] = {"dtype": kind, "shape": [max(extent(t), 1)], "init": init,
                              "view": {"shape": list(t.shape), "strides": list(t.stride())}}
        moved = LIMITS.get("bytes:" + owner, t.numel() * t.element_size())
        self.bytes += moved * ((owner in self.written) + (owner in self.read))

    def argument(self, a, name, node):
        if isinstance(node, (HeterogeneousTupleNode, HomogeneousTupleNode)) or isinstance(a, tuple) and not node.constant:
            nodes = getattr(node, "items", None) or [getattr(node, "each", node)] * len(a)
            return TupleConstraint([self.argument(x, f"{name}{i}", n) for i, (x, n) in enumerate(zip(a, nodes))])
        owner = name if name in self.named else name.rstrip("0123456789")
        lower = name.lower()
        if node.constant:
            if isinstance(a, torch.dtype):
                a = CONSTANT[a]
            return ConstantConstraint(a.item() if isinstance(a, torch.Tensor) else a)
        if isinstance(a, torch.Tensor):
            self.tensor(a, lower, owner)
            wide = getattr(node.array, "index_dtype", None) == ct.int64
            self.params += [{"buffer": lower}] + [{"i64" if wide else "i32": v} for v in (*a.shape, *a.stride())]
            return array(a, node.array)
        if isinstance(a, list):
            words, pointers = [], []
            for i, t in enumerate(a):
                self.tensor(t, f"{lower}{i}", owner)
                pointers.append({"index": len(words), "buffer": f"{lower}{i}", "offset_bytes": 0})
                words += [0, *t.shape, *t.stride()]
            self.buffers[lower] = {"dtype": "i64", "shape": [len(words)], "init": {"values": words}, "pointers": pointers}
            self.params += [{"buffer": lower}, {"i32": len(a)}]
            every = {array(t, node.list, True) for t in a}
            assert len(every) == 1, every
            return ListConstraint(every.pop(), alias_groups=(), elements_may_alias=False)
        if node.scalar is not None:
            kind = {v: k for k, v in TILE.items()}[node.scalar.dtype]
        else:
            kind = "bool" if isinstance(a, bool) else "f32" if isinstance(a, float) else "i32" if -1 << 31 <= a < 1 << 31 else "i64"
        self.params.append({kind: a})
        return ScalarConstraint(TILE[kind])

    def compile(self):
        symbol = self.kernel._annotated_function.pyfunc.__name__
        sig = KernelSignature(self.constraints, CallingConvention.cutile_python_v1(), symbol=symbol)
        version = {v.as_string(): v for v in compiler._all_bytecode_versions(True)}["13.3"]
        r = compiler.compile_tile(self.kernel._annotated_function, [sig], sm_arch=None, compiler_options=self.kernel._compiler_options,
                                  bytecode_version=version, return_bytecode=True, return_cubin=False, return_final_ir=True)
        assert len(r.final_ir[0].params) == len(self.params), (len(r.final_ir[0].params), len(self.params))
        return symbol, bytes(r.bytecode)

    def constant(self, *patterns):
        """The value of the first constant whose name fits one of these; 0 if there is none."""
        for p in patterns:
            for n, a in self.named.items():
                if isinstance(a, int) and re.fullmatch(p, n, re.I):
                    return a
        return 0


# Kernels that are not bound by memory: pattern, prefix, kind of tile.
FAMILIES = [
    (r"delta_rule", "", ""), (r"grouped_gemm|group_gemm|ragged_b|masked_bmm", "group_gemm", "product"), (r"fused_moe", "group_gemm", "product"),
    (r"bmm|matmul|gemm_alpha|split_gemm|w8a8|linear", "gemm", "product"),
    (r"splitk|preprocess|quant|reduce|softmax|align", "", ""),
    (r"fmha|attention|mla|swa_|fna_|sparse_mla|decode", "attention", "attention")]
WORK = {"case": "", "tag": "", "flops": {}, "causal": False}
LIMITS = {}
SEEN = {}
if SM == 120:                                     # what the run as sm_80 made
    for d in os.listdir(FOLDER):
        if "_as120" not in d and os.path.exists(os.path.join(FOLDER, d, "bench.json")):
            SEEN[json.load(open(os.path.join(FOLDER, d, "bench.json")))["sha256"]] = d


def work(tag, flops=None, causal=False, **limits):
    """Describes the launches that follow: floating-point operations by pattern of kernel, limits of indices and the bytes moved of a parameter
    (bytes_NAME) by name of parameter."""
    WORK.update(tag=tag, flops=flops if isinstance(flops, dict) else {"": flops or 0}, causal=causal)
    LIMITS.clear()
    LIMITS.update({k.replace("bytes_", "bytes:"): v for k, v in limits.items()})


def launch(stream, grid, kernel, args, **_):
    symbol = kernel._annotated_function.pyfunc.__name__
    short = re.sub(r"_+(kernel|ct|cutile)(?=_|$)", "", symbol.strip("_"))
    prefix, kind = next(((p, k) for r, p, k in FAMILIES if re.search(r, symbol)), ("", ""))
    now = time.time()
    try:
        run = Launch(kernel, grid, args)
        symbol, code = run.compile()
    except Exception as e:
        print(f"FAILED {WORK['tag']} {symbol}: {type(e).__name__}: {str(e)[:600]}", flush=True)
        if os.environ.get("TRACE"):
            traceback.print_exc()
        return
    floats = [TYPES[t.dtype] for a in args for t in (a if isinstance(a, (list, tuple)) else [a])
              if isinstance(t, torch.Tensor) and t.is_floating_point()]
    dtype = next((f for f in floats if f.startswith("f8")), floats[0] if floats else "i32") if prefix else (floats or ["i32"])[0]
    words = f"{WORK['tag'] or 'tg'}_{short}".split("_")
    if prefix:
        words = [w for w in words if w not in ("tg", *prefix.split("_"), *(["group", "grouped", "gemm"] if prefix == "group_gemm" else []))]
    words = (prefix.split("_") if prefix else []) + ([dtype] if prefix == "gemm" else []) + words + ([] if prefix == "gemm" else [dtype])
    name, tile = "_".join(dict.fromkeys(w for w in words if w and w != "causal")), ""
    if prefix == "attention":
        name += "_causal" if WORK["causal"] else ""
        d = run.constant("(TILE|BLOCK|BLOCK_SIZE|TILE_SIZE)_(D|DMODEL|K)", "HEAD_DIM.*", "D", "BLOCK_DMODEL", "BLOCK_D.*", "K_DIM")
        m = run.constant("(TILE|BLOCK|BLOCK_SIZE|TILE_SIZE)_M", "BM", "(TILE|BLOCK)_H", "QUERY_GROUP.*BLOCK.*", "BLOCK_Q.*", "NUM_Q_HEAD_PER_KV",
                         "QUERY_GROUP.*")
        n = run.constant("(TILE|BLOCK|BLOCK_SIZE|TILE_SIZE)_N", "BN", "BLOCK_K.*")
        if d and m and n:
            tile = f"_d{d}_{m}x{n}"
    elif prefix:
        m, n, k = (run.constant(f"(TILE|BLOCK|BLOCK_SIZE|TILE_SIZE)_{x}", f"T{x}", f"B{x}", f".*(TILE|BLOCK).*_{x}") for x in "MNK")
        if m and n and k:
            tile = f"_{m}x{n}x{k}"
    name += "_as120" if SM == 120 else ""
    flops = next((f for p, f in WORK["flops"].items() if re.search(p, symbol)), 0)
    key = hashlib.sha256(code).hexdigest()
    if key in SEEN:
        return
    full, i = name + tile, 1
    while os.path.exists(os.path.join(FOLDER, full, "bench.json")):
        old = json.load(open(os.path.join(FOLDER, full, "bench.json")))
        if old["sha256"] == key or full not in SEEN.values():
            break                                 # the same, or of an earlier run
        i += 1
        full = f"{name}_v{i}{tile}"
    SEEN[key] = full
    grid = [*run.grid, 1, 1][:3]
    more = {}
    if grid[0] % COUNT == 0 and grid[1:] == [1, 1] and grid[0] <= 32 * COUNT:
        more["grid_rule"] = {"blocks": "multiprocessors", "times": grid[0] // COUNT}
        grid = "persistent"
    hints = {k: str(v) for k, v in vars(kernel._compiler_options).items() if v is not None}
    bench = {"name": full, "about": f"TileGym: {symbol} as {WORK['case']} launches it.", "op": short, "bytecode": "kernel.tileirbc",
             "bytecode_version": "13.3", "kernel": symbol, "grid": grid, "tuned_for": [f"sm_{SM}"], "flops": int(flops), "bytes": int(run.bytes),
             **more, "case": WORK["case"], "hints": hints, "sha256": key,
             "constants": {n: a for n, a in run.named.items() if isinstance(a, (int, float, str, bool))}, "written": sorted(run.written),
             "buffers": run.buffers, "params": run.params}
    d = os.path.join(FOLDER, full)
    os.makedirs(d, exist_ok=True)
    open(os.path.join(d, "kernel.tileirbc"), "wb").write(code)
    lines = [f"  {json.dumps(k)}: " + ("{\n" + ",\n".join(f"    {json.dumps(n)}: {json.dumps(b)}" for n, b in v.items()) + "\n  }"
                                       if k == "buffers" else json.dumps(v)) for k, v in bench.items()]
    open(os.path.join(d, "bench.json"), "w").write("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{full} {len(code)} B grid {run.grid} {time.time() - now:.1f} s", "" if run.written else "WRITES NOTHING", flush=True)


def first_choice(space, stream, grid, kernel, args, hints=None, **_):
    m = cuda.tile.tune.Measurement(config=list(space)[0], mean_us=1.0, num_samples=1, error_margin_us=0.0)
    return cuda.tile.tune.TuningResult(best=m, successes=[m], failures=[])


ct.launch = launch
cuda.tile.tune.exhaustive_search = first_choice
cuda.tile.tune._tune.exhaustive_search = first_choice

import logging
logging.disable(logging.WARNING)
import tilegym  # noqa: E402
ct.launch = launch
