"""The kinds of evidence a result carries; each says its kind, and the path it shows if it shows one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.invariant import Invariant
from vernal.evidence.recurrent_set import RecurrentSet
from vernal.evidence.trace import Trace

EvidenceKind = Literal["trace", "lasso", "tree", "invariant", "flowpipe", "recurrence"]


@dataclass(frozen=True)
class Tree:
    """A state at which the claim fails although no single path shows it, and what excludes the paths from there.

    Where that is an invariant, in which every path from the state stays, or sets that show the negation of the claim at
    the state (the lines of a certificate), it can be checked again. Of a loop that samples all paths from the state are
    followed again, for all time by a recurrent set.
    """

    path: Trace  # from an initial state to the state at which the claim fails
    excluded_by: str  # "bounds on all paths from this state exclude the claim", ...
    invariant: Invariant | None = None
    sets: tuple[Any, ...] | None = None
    recurrence: RecurrentSet | None = None  # of a loop that samples

    @property
    def kind(self) -> EvidenceKind:
        return "tree"


Evidence = Trace | Tree | Invariant | Flowpipe | RecurrentSet
