"""Tasks: a system, the properties asked of it, and where all of it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from vernal.logic.formula import Formula
from vernal.logic.question import OptionLabels
from vernal.model.expr import Expr
from vernal.model.network import Network
from vernal.model.portable import Portable
from vernal.model.system import System


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read, with the hash of its bytes."""

    file: str
    sha256: str


@dataclass(frozen=True)
class Task(Portable):
    """What a task file says, read and checked; later formulas may use `constants` besides the system's names."""

    system: System
    properties: Mapping[str, Formula] = field(default_factory=dict)
    parameters: Mapping[str, Fraction] = field(default_factory=dict)
    constants: Mapping[str, Expr] = field(default_factory=dict)
    functions: Mapping[str, Network] = field(default_factory=dict)
    source: InputFile | None = None
    networks: tuple[InputFile, ...] = ()  # and the worlds it is built on: whatever else was read
    predicates: tuple[Expr, ...] = ()  # conditions on the state, by which predicate abstraction tells states apart
    options: Mapping[str, str] = field(default_factory=dict)  # what else it takes to open it: policy, property, ...
    proviso: str | None = None  # what is left out of the system by its definition; the scope of every proof says so
    counts: Mapping[str, int] = field(default_factory=dict)  # facts about the task that every result's statistics have
    labels: OptionLabels = field(default_factory=dict)  # of the outcomes of a planning model: their actions

    @property
    def name(self) -> str:
        return self.system.name

    def __repr__(self) -> str:
        return f"<Task {self.name}: {', '.join(self.properties) or 'no properties'}>"
