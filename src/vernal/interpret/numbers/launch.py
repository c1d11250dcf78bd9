"""Traced functions at work: compiled when first asked for, then one launch for each call.

`Kernels` takes tensors, finds (or makes) the kernel for the function and the pattern of its arguments, and allocates
its results. Who compiles and starts a kernel is a `Compiler`: `CardCompiler` is CUDA's run-time compiler as torch
brings it along; tests have one that compiles the same lines for the processor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vernal.interpret.numbers.emit import CUDA, source
from vernal.interpret.numbers.rounding import Array, torch_tensor
from vernal.interpret.numbers.trace import INTEGER, REAL, TRUTH, Fusible, Recipe, Where, trace

THREADS = 128  # of a block
MOST_LANES = 32  # threads that may share a row

Domain = tuple[int, int, int]  # groups, rows of each, components
Launch = Callable[[ctypes.Array[ctypes.c_longlong], int], None]  # arguments, and how many threads


class Compiler(Protocol):
    """Makes source text a kernel that can be started."""

    template: str

    def build(self, text: str, name: str) -> Launch: ...


class CardCompiler:
    """The run-time compiler of CUDA, through torch; products and sums are not fused into one operation."""

    template = CUDA

    def __init__(self, device: Any) -> None:
        import torch

        self._device = device
        self._compile: Any = torch.cuda._compile_kernel
        self._driver = ctypes.CDLL("libcuda.so.1")

    def build(self, text: str, name: str) -> Launch:
        """A function that starts the kernel on torch's current stream."""
        import torch

        kernel = self._compile(text, name, nvcc_options=["--fmad=false"])
        function, start, device = kernel.func, self._driver.cuLaunchKernel, self._device

        def launch(arguments: ctypes.Array[ctypes.c_longlong], threads: int) -> None:
            stream = ctypes.c_void_p(torch.cuda.current_stream(device).cuda_stream)
            given = (ctypes.c_void_p * 1)(ctypes.addressof(arguments))
            blocks = ctypes.c_uint(-(-threads // THREADS))
            failed = start(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, given, None)
            if failed:
                raise RuntimeError(f"a kernel could not be started: CUDA error {failed}")

        return launch


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled function: how it is started, and which inputs each result depends on."""

    launch: Launch
    recipe: Recipe


class Kernels:
    """Functions of tensors as kernels, each compiled once for a pattern of arguments."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._kernels: dict[tuple[Any, ...], Kernel] = {}

    def components(self, function: Fusible, static: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Array, ...]:
        """A function that works component by component, with broadcasting over at most three axes."""
        axes = max(array.dim() for array in arrays)
        layouts = [_Layout((1,) * (3 - x.dim()) + tuple(x.shape), (0,) * (3 - x.dim()) + x.stride()) for x in arrays]
        groups, rows, count = (_extent(extents) for extents in zip(*(x.shape for x in layouts), strict=True))
        made = self._run(function, static, arrays, layouts, (), (), (groups, rows, count), None)
        return tuple(torch_tensor(found).reshape(found.shape[3 - axes :]) for found in made)

    def rows(
        self,
        function: Fusible,
        static: tuple[Any, ...],
        components: Sequence[Any],
        rows: Sequence[Any],
        boxes: Sequence[Any],
        index: Any,
    ) -> tuple[Array, ...]:
        """A function of rows: arrays (groups, r, n), (groups, r), and (boxes or 1, n) or (boxes or 1,) of the box of
        each group, which the index names; without one, box and group are the same.
        """
        layouts = [_Layout(tuple(x.shape), x.stride()) for x in components]
        layouts += [_Layout((*x.shape, 1), (*x.stride(), 0)) for x in rows]
        layouts += [_of_boxes(x) for x in boxes]
        groups = components[0].shape[0] if index is not None else _extent([layout.shape[0] for layout in layouts])
        count = _extent([layout.shape[2] for layout in layouts])
        first, last = len(components), len(components) + len(rows)
        arrays = [*components, *rows, *boxes]
        whole = [*range(first, last), *(last + i for i, x in enumerate(boxes) if x.dim() == 1)]
        domain = (groups, components[0].shape[1], count)
        return self._run(function, static, arrays, layouts, whole, range(last, len(arrays)), domain, index)

    def _run(
        self,
        function: Fusible,
        static: tuple[Any, ...],
        arrays: Sequence[Any],
        layouts: Sequence[_Layout],
        rows: Sequence[int],
        boxes: Sequence[int],
        domain: Domain,
        index: Any,
    ) -> tuple[Array, ...]:
        index = None if index is None else index.contiguous()
        kernel = self._kernel(function, static, arrays, rows, boxes)
        results = [_result(kernel.recipe, number, layouts, domain, arrays[0]) for number in kernel.recipe.results]
        lanes = min(MOST_LANES, 1 << max(0, domain[2] - 1).bit_length())
        total = domain[0] * domain[1]
        values = [total, domain[1], domain[2], lanes, 0 if index is None else index.data_ptr()]
        for array, layout in zip(arrays, layouts, strict=True):
            values += (array.data_ptr(), *layout.steps)
        for result in results:
            values += (result.data_ptr(), *_Layout((*result.shape, 1)[:3], (*result.stride(), 0)[:3]).steps)
        if total:
            kernel.launch((ctypes.c_longlong * len(values))(*values), total * lanes)
        return tuple(results)

    def _kernel(
        self,
        function: Fusible,
        static: tuple[Any, ...],
        arrays: Sequence[Any],
        rows: Sequence[int],
        boxes: Sequence[int],
    ) -> Kernel:
        kinds = tuple(array.dtype for array in arrays)
        key = (function, static, kinds, tuple(rows), tuple(boxes))
        if key not in self._kernels:
            inside = range(len(arrays))
            recipe = trace(function, static, [_kind(kind) for kind in kinds], [i in rows for i in inside])
            name = f"kernel_{len(self._kernels)}"
            text = source(recipe, [i in boxes for i in inside], name, self._compiler.template)
            self._kernels[key] = Kernel(self._compiler.build(text, name), recipe)
        return self._kernels[key]


def _kind(dtype: Any) -> str:
    return {"torch.float64": REAL, "torch.bool": TRUTH, "torch.int64": INTEGER}[str(dtype)]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How an array lies over groups, rows and components."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def steps(self) -> list[int]:
        """The strides, and none along an axis that is repeated."""
        return [0 if extent == 1 else stride for extent, stride in zip(self.shape, self.strides, strict=True)]


def _of_boxes(array: Any) -> _Layout:
    """One value for each box, or one for each component of it."""
    if array.dim() == 1:
        return _Layout((array.shape[0], 1, 1), (array.stride(0), 0, 0))
    return _Layout((array.shape[0], 1, array.shape[1]), (array.stride(0), 0, array.stride(1)))


def _extent(extents: Sequence[int]) -> int:
    return 0 if 0 in extents else max(extents)


def _result(recipe: Recipe, number: int, layouts: Sequence[_Layout], domain: Domain, like: Any) -> Any:
    """Room for a result, along the axes that an input it depends on has."""
    import torch

    line = recipe.lines[number]
    shape = [
        extent if any(layouts[i].shape[axis] != 1 for i in line.inputs) else 1 for axis, extent in enumerate(domain)
    ]
    kind = {REAL: torch.float64, TRUTH: torch.bool, INTEGER: torch.int64}[line.kind]
    return torch.empty(shape[:2] if line.where in (Where.ROW, Where.SUMMED) else shape, dtype=kind, device=like.device)
