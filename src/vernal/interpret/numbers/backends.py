"""The backend for given arrays: numpy's, torch's, and on a card one that computes whole functions at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from vernal.interpret.numbers.kernel_launch import CardCompiler, Kernels
from vernal.interpret.numbers.rounding import Array, Backend, torch_tensor

NUMPY = Backend()  # one for all, so that what it keeps of networks is made once


def backend_for(like: Array | None) -> Backend:
    """A backend for such arrays; without any, numpy's."""
    if like is None or isinstance(like, np.ndarray):
        return NUMPY
    device = torch_tensor(like).device
    found = kernels(device) if device.type == "cuda" else None
    if found is not None:
        found.attend()
    return Backend(like, found)


@lru_cache(maxsize=8)
def kernels(device: Any) -> Kernels | None:
    """The kernels of a card, shared by all who compute there; None where this torch cannot compile any."""
    import torch

    return Kernels(CardCompiler(device)) if hasattr(torch.cuda, "_compile_kernel") else None
