"""Kernels on the processor: the lines a card would run, compiled as C, so that they can be compared without a card."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from vernal.interpret.numbers.kernel_code import HOST
from vernal.interpret.numbers.kernel_launch import Kernels, Launch

COMPILER = shutil.which("gcc") or shutil.which("cc")

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler, to run kernels without a card")


class HostCompiler:
    """Compiles kernels as loops in C; products and sums are not fused there either."""

    template = HOST

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def attend(self) -> None:
        """There are no streams."""

    def build(self, text: str, name: str) -> Launch:
        file = self._folder / f"{name}.c"
        file.write_text(text)
        library = file.with_suffix(".so")
        assert COMPILER is not None
        command = [COMPILER, "-O1", "-w", "-ffp-contract=off", "-shared", "-fPIC", str(file), "-o", str(library), "-lm"]
        subprocess.run(command, check=True)
        function = getattr(ctypes.CDLL(str(library)), name)
        return lambda arguments, threads: function(ctypes.byref(arguments))


def hosted_kernels(folder: Path) -> Kernels:
    """Kernels compiled into a folder."""
    return Kernels(HostCompiler(folder))
