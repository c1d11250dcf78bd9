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

from vernal.interpret.numbers.kernel_code import CUDA, EACH, FIXED, source
from vernal.interpret.numbers.kernel_trace import INTEGER, REAL, TRUTH, Fusible, Recipe, Where, trace
from vernal.interpret.numbers.rounding import Array

THREADS = 128  # of a block
MOST_LANES = 32  # threads that may share a row
MOST_ROWS = 1 << 31  # what 32 bits can count, with room
MOST_FITTED = 100_000  # that are remembered

Extents = tuple[int, int, int]  # along groups, rows of each, components
Launch = Callable[[ctypes.Array[ctypes.c_longlong], int], None]  # arguments, and how many threads


class Compiler(Protocol):
    """Makes source text a kernel that can be started."""

    template: str

    def attend(self) -> None: ...

    def build(self, text: str, name: str) -> Launch: ...


class CardCompiler:
    """The run-time compiler of CUDA, through torch; products and sums are not fused into one operation."""

    template = CUDA

    def __init__(self, device: Any) -> None:
        import torch

        self._device = device
        self._compile: Any = torch.cuda._compile_kernel
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._stream = ctypes.c_void_p()

    def attend(self) -> None:
        """From now on kernels follow what torch's current stream does."""
        import torch

        self._stream = ctypes.c_void_p(torch.cuda.current_stream(self._device).cuda_stream)

    def build(self, text: str, name: str) -> Launch:
        """A function that starts the kernel on the stream of `attend`."""
        kernel = self._compile(text, name, nvcc_options=["--fmad=false"])
        function, start = kernel.func, self._driver.cuLaunchKernel

        def launch(arguments: ctypes.Array[ctypes.c_longlong], threads: int) -> None:
            given = (ctypes.c_void_p * 1)(ctypes.addressof(arguments))
            blocks = -(-threads // THREADS)
            failed = start(function, blocks, 1, 1, THREADS, 1, 1, 0, self._stream, given, None)
            if failed:
                raise RuntimeError(f"a kernel could not be started: CUDA error {failed}")

        return launch


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled function: how it is started, and which inputs each result depends on."""

    launch: Launch
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Room:
    """What a result needs: its shape as the caller sees it, its kind, and its strides along the domain."""

    shape: tuple[int, ...]
    dtype: Any
    steps: Extents


@dataclass(frozen=True, slots=True)
class FittedKernel:
    """A kernel and arrays of given shapes: everything about a launch but where the arrays are."""

    launch: Launch
    threads: int
    template: list[int]  # the arguments, with 0 in the place of addresses
    places: tuple[int, ...]  # of the addresses: arrays first, then results
    results: tuple[Room, ...]


class Kernels:
    """Functions of tensors as kernels, each compiled once for a pattern of arguments."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        self._fitted: dict[tuple[Any, ...], FittedKernel] = {}

    def attend(self) -> None:
        """Follow what torch's current stream does; and forget how arrays lay if there are too many."""
        self._compiler.attend()
        if len(self._fitted) > MOST_FITTED:
            self._fitted.clear()

    def components(self, function: Fusible, static: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Array, ...]:
        """A function that works component by component, with broadcasting over at most three axes."""
        key = (function, static, tuple((x.shape, x.stride(), x.dtype) for x in arrays))
        fitted = self._fitted.get(key)
        if fitted is None:
            axes = max(x.dim() for x in arrays)
            layouts = [
                _Layout((1,) * (3 - x.dim()) + tuple(x.shape), (0,) * (3 - x.dim()) + x.stride()) for x in arrays
            ]
            fitted = self._fitted[key] = self._fit(function, static, arrays, layouts, (), (), axes, None)
        return _run(fitted, arrays, 0)

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
        arrays = (*components, *rows, *boxes)
        index = None if index is None else index.contiguous()
        groups = None if index is None else index.shape[0]
        key = (function, static, groups, len(components), tuple((x.shape, x.stride(), x.dtype) for x in arrays))
        fitted = self._fitted.get(key)
        if fitted is None:
            layouts = [_Layout(tuple(x.shape), x.stride()) for x in components]
            layouts += [_Layout((*x.shape, 1), (*x.stride(), 0)) for x in rows]
            layouts += [_of_boxes(x) for x in boxes]
            first, last = len(components), len(components) + len(rows)
            whole = [*range(first, last), *(last + i for i, x in enumerate(boxes) if x.dim() == 1)]
            of_boxes = range(last, len(arrays))
            fitted = self._fitted[key] = self._fit(function, static, arrays, layouts, whole, of_boxes, 3, groups)
        return _run(fitted, arrays, 0 if index is None else index.data_ptr())

    def _fit(
        self,
        function: Fusible,
        static: tuple[Any, ...],
        arrays: Sequence[Any],
        layouts: Sequence[_Layout],
        whole: Sequence[int],
        boxes: Sequence[int],
        axes: int,
        groups: int | None,
    ) -> FittedKernel:
        """How a function is started on arrays that lie like these; `groups` is how many an index names."""
        kernel = self._kernel(function, static, arrays, whole, boxes)
        extents = [layout.shape for layout in layouts]
        domain = (
            _extent([shape[0] for shape in extents]) if groups is None else groups,
            _extent([shape[1] for shape in extents]),
            _extent([shape[2] for shape in extents]),
        )
        results = tuple(_room(kernel.recipe, number, extents, domain, axes) for number in kernel.recipe.results)
        total, lanes = domain[0] * domain[1], min(MOST_LANES, 1 << max(0, domain[2] - 1).bit_length())
        assert total < MOST_ROWS, f"{total} rows are too many for one kernel"
        template = [total, domain[1], domain[2], lanes, 0]
        for steps in (*(layout.steps for layout in layouts), *(room.steps for room in results)):
            template += (0, *steps)
        places = tuple(range(FIXED, len(template), EACH))
        return FittedKernel(kernel.launch, total * lanes, template, places, results)

    def _kernel(
        self,
        function: Fusible,
        static: tuple[Any, ...],
        arrays: Sequence[Any],
        whole: Sequence[int],
        boxes: Sequence[int],
    ) -> Kernel:
        kinds = tuple(array.dtype for array in arrays)
        key = (function, static, kinds, tuple(whole), tuple(boxes))
        if key not in self._kernels:
            inside = range(len(arrays))
            recipe = trace(function, static, [_kind(kind) for kind in kinds], [i in whole for i in inside])
            name = f"kernel_{len(self._kernels)}"
            text = source(recipe, [i in boxes for i in inside], name, self._compiler.template)
            self._kernels[key] = Kernel(self._compiler.build(text, name), recipe)
        return self._kernels[key]


def _run(fitted: FittedKernel, arrays: Sequence[Any], index: int) -> tuple[Array, ...]:
    """Start a kernel; the results are new."""
    like = arrays[0]
    results = [like.new_empty(room.shape, dtype=room.dtype) for room in fitted.results]
    if fitted.threads:
        values = fitted.template.copy()
        values[FIXED - 1] = index
        for place, array in zip(fitted.places, (*arrays, *results), strict=True):
            values[place] = array.data_ptr()
        fitted.launch((ctypes.c_longlong * len(values))(*values), fitted.threads)
    return tuple(results)


def _kind(dtype: Any) -> str:
    return {"torch.float64": REAL, "torch.bool": TRUTH, "torch.int64": INTEGER}[str(dtype)]


def _dtype(kind: str) -> Any:
    import torch

    return {REAL: torch.float64, TRUTH: torch.bool, INTEGER: torch.int64}[kind]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How an array lies over groups, rows and components."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def steps(self) -> Extents:
        """The strides, and none along an axis that is repeated."""
        g, r, j = (0 if extent == 1 else stride for extent, stride in zip(self.shape, self.strides, strict=True))
        return g, r, j


def _of_boxes(array: Any) -> _Layout:
    """One value for each box, or one for each component of it."""
    if array.dim() == 1:
        return _Layout((array.shape[0], 1, 1), (array.stride(0), 0, 0))
    return _Layout((array.shape[0], 1, array.shape[1]), (array.stride(0), 0, array.stride(1)))


def _extent(extents: Sequence[int]) -> int:
    return 0 if 0 in extents else max(extents)


def _room(recipe: Recipe, number: int, extents: Sequence[tuple[int, ...]], domain: Extents, axes: int) -> Room:
    """Room for a result, along the axes that an input it depends on has."""
    line = recipe.lines[number]
    g, r, j = (extent if any(extents[i][axis] != 1 for i in line.inputs) else 1 for axis, extent in enumerate(domain))
    if line.where in (Where.ROW, Where.SUMMED):
        return Room((g, r), _dtype(line.kind), _Layout((g, r, 1), (r, 1, 0)).steps)
    return Room((g, r, j)[3 - axes :], _dtype(line.kind), _Layout((g, r, j), (r * j, j, 1)).steps)
