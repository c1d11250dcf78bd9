"""Where bounds are computed: on the processor, or on a card that torch knows.

Who asks a question says where (`using`); who bounds a batch of boxes looks (`current`). Only large batches go to a
card: a small one is done sooner here, with the same result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from vernal.errors import InputError, MissingExtra, Stopped

PROCESSOR = "cpu"
BYTES = 8  # of a number
NUMBERS_OF_HOST = 1 << 26  # that tensors on the processor may have
EMULATION = "CUBLAS_EMULATE_DOUBLE_PRECISION"  # lets CUDA's matrix products compute in integers, with other roundings


@dataclass(frozen=True, slots=True)
class Device:
    """A card by torch's name for it; `remark` says what is not as it could be.

    Batches of fewer than `smallest` boxes are not worth its launches.
    """

    name: str
    remark: str = ""
    smallest: int = 1

    def made_current(self) -> AbstractContextManager[object]:
        """Within it, torch's current card is this one: kernels are started on that."""
        number = self.name.partition(":")[2]
        if not number:
            return nullcontext()
        import torch

        within: AbstractContextManager[object] = torch.cuda.device(int(number))
        return within

    def put(self, array: Any) -> Any:
        """A numpy array as a tensor there."""
        import torch

        return torch.asarray(np.array(array), device=self.name)  # a copy: arrays may be shared, and read-only


def find_device(name: str) -> Device | None:
    """The card of this name, None for the processor; an error where there is no such card or no torch."""
    if name == PROCESSOR:
        return None
    if not re.fullmatch(r"cuda(:\d+)?", name):
        raise InputError(f"there is no device {name!r}; bounds are computed on cpu or cuda (or cuda:1, a second card)")
    try:
        import torch
    except ImportError:
        raise MissingExtra(f"computing on {name}", "torch") from None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(name.partition(":")[2] or 0) >= count:
        found = f"{count} of them" if count else "none"
        hint = "" if torch.version.cuda else ", since it was built without CUDA"
        raise InputError(f"there is no device {name!r}: torch {torch.__version__} finds {found}{hint}; use cpu")
    if os.environ.get(EMULATION, "0") not in ("", "0"):
        raise InputError(
            f"{EMULATION} is set: products in emulated arithmetic have no bound on their rounding; unset it"
        )
    compiles = hasattr(torch.cuda, "_compile_kernel")
    slow = f"torch {torch.__version__} cannot compile kernels while it runs, which 2.9 can: bounds on {name} are slower"
    return Device(name, "" if compiles else slow)


_CURRENT: ContextVar[tuple[Device | None, int]] = ContextVar("device", default=(None, 0))


def current() -> Device | None:
    """The card on which large batches are bounded, if any; none in a process that was forked, which cannot use it."""
    device, process = _CURRENT.get()
    return device if process == os.getpid() else None


@contextmanager
def using(device: Device | None) -> Iterator[None]:
    """Within it, large batches are bounded there; a card whose memory is full is a limit reached."""
    token = _CURRENT.set((device, os.getpid()))
    try:
        with nullcontext() if device is None else device.made_current():
            yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # of torch, which is not imported for its name
            raise
        assert device is not None
        raise Stopped(f"the memory of {device.name} is full; try --device cpu") from None
    finally:
        _CURRENT.reset(token)


def free_numbers(device: Any) -> int:
    """How many numbers a card has room for: what is free, and what torch holds without using it."""
    import torch

    if torch.device(device).type == PROCESSOR:
        return NUMBERS_OF_HOST
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free + unused) // BYTES
