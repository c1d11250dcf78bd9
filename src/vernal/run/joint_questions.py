"""What several questions of one check have in common: who is asked next may use what was found for another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `vernal --help` loads this module, and no formulas
    from vernal.logic.formula import Formula


@dataclass(eq=False)
class JointQuestions:
    """The formulas of one check, as written, and by its type what one of them found that others may use."""

    formulas: tuple[Formula, ...] = ()
    found: dict[type, object] = field(default_factory=dict)
