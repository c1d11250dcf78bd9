"""The one expression graph: nodes that are pure data, shared wherever they are equal.

A node has arguments, a sort, a shape (`()` for a scalar, `(n,)` for a vector) and what else its operator needs.
What an operator *means* is defined by each interpretation. Nodes are interned: building the same node twice
yields the same object, so equality is identity, hashing is cheap and common sub-expressions are shared for free.
Draws carry their occurrence, which keeps two equal `choose(0, 1)` apart.

Use the functions of `vernal.model.build` to make nodes; they check sorts and fold constants. The classes here are raw.
"""

from __future__ import annotations

import itertools
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from threading import RLock
from typing import Any, ClassVar, Self
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from vernal.model.hooks import HOOKS, hook
from vernal.model.portable import Portable
from vernal.model.sorts import Sort
from vernal.printable import shortened

Shape = tuple[()] | tuple[int]


class _Kept(ref["Expr"]):
    """A node in the table of nodes, and where it stands there."""

    __slots__ = ("key",)
    key: tuple[object, ...] | None


class _Interned(type):
    """Makes equal nodes one object. The table holds nodes weakly, so that a dropped graph is freed.

    Threads may make nodes at the same time: `setdefault` of a dictionary is one step, so that of equal nodes one is
    kept, and dead entries are removed under a lock. (A `WeakValueDictionary` looks first and writes afterwards.)
    """

    table: ClassVar[dict[tuple[object, ...], _Kept]] = {}
    lock: ClassVar[RLock] = RLock()

    def __call__(cls, *args: Any, **named: Any) -> Any:
        fresh = super().__call__(*args, **named)
        key = (cls, _content(cls)(fresh))
        known = _Interned.table.get(key)
        node = None if known is None else known()
        return _keep(key, fresh) if node is None else node


def _keep(key: tuple[object, ...], fresh: Expr) -> Expr:
    """The node with this key: the given one, unless another thread was quicker."""
    own = _Kept(fresh, _forget)
    own.key = None
    while True:
        kept = _Interned.table.setdefault(key, own)
        if kept is own:
            own.key = key
            return fresh
        node = kept()
        if node is not None:
            return node
        with _Interned.lock:  # dead, and its callback has not run yet
            if _Interned.table.get(key) is kept:
                kept.key = None
                del _Interned.table[key]


def _forget(kept: _Kept, kind: type[_Interned] = _Interned) -> None:
    """Remove the entry of a dead node; an argument is still there when globals are gone, at the end of the program."""
    with kind.lock:
        key, kept.key = kept.key, None
        if key is not None:  # else it is removed, or was never entered
            del kind.table[key]


@cache
def _content(kind: type) -> Callable[[object], tuple[object, ...]]:
    """The fields of a kind of node, as one tuple."""
    return attrgetter(*(entry.name for entry in fields(kind)))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Expr(Portable, metaclass=_Interned):
    """A node of the graph; see the subclasses for the operators."""

    args: tuple[Expr, ...]
    sort: Sort
    shape: Shape

    @property
    def size(self) -> int:
        """The number of components: 1 for a scalar."""
        return self.shape[0] if self.shape else 1

    def __repr__(self) -> str:  # never recurses: arguments are only counted
        extra = [f"{entry.name}={getattr(self, entry.name)!r}" for entry in fields(self)[3:]]
        return f"{type(self).__name__}({', '.join([f'{len(self.args)} args', str(self.sort), *extra])})"

    def __str__(self) -> str:
        """As it is written in a task; a long one is cut short."""
        return shortened(hook("text")(self)) if "text" in HOOKS else repr(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # Numbers and nodes combine with the usual operators; `==` stays identity, so use `eq(a, b)` to build an equation.
    def __add__(self, other: Operand) -> Expr:
        return _made("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return _made("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return _made("sub", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return _made("sub", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return _made("mul", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return _made("mul", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return _made("div", self, other)

    def __floordiv__(self, other: Operand) -> Expr:
        return _made("quotient", self, other)

    def __mod__(self, other: Operand) -> Expr:
        return _made("remainder", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return _made("div", other, self)

    def __pow__(self, other: Fraction | int) -> Expr:
        return _made("power", self, other)

    def __neg__(self) -> Expr:
        return _made("neg", self)

    def __abs__(self) -> Expr:
        return _made("absolute", self)

    def __lt__(self, other: Operand) -> Expr:
        return _made("compare", "<", self, other)

    def __le__(self, other: Operand) -> Expr:
        return _made("compare", "<=", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return _made("compare", "<", other, self)

    def __ge__(self, other: Operand) -> Expr:
        return _made("compare", "<=", other, self)

    def __and__(self, other: Operand) -> Expr:
        return _made("conj", self, other)

    def __rand__(self, other: Operand) -> Expr:
        return _made("conj", other, self)

    def __or__(self, other: Operand) -> Expr:
        return _made("disj", self, other)

    def __ror__(self, other: Operand) -> Expr:
        return _made("disj", other, self)

    def __invert__(self) -> Expr:
        return _made("negate", self)

    def __getitem__(self, index: int) -> Expr:
        return _made("component", self, index)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str | int | float | Fraction | np.generic):
            raise TypeError(
                "== on expressions compares objects; write vn.eq(a, b), or vn.equals(a, 'LABEL') for a label"
            )
        return self is other

    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **settings: Any) -> Any:
        return CONSTRUCTORS["numpy ufunc"](ufunc, method, given, settings)

    def __array_function__(self, function: Any, types: Any, given: Any, settings: Any) -> Any:
        return CONSTRUCTORS["numpy function"](function, given, settings)

    def __bool__(self) -> bool:
        raise TypeError(
            "an expression has no truth value: instead of and, or, not and if use &, |, ~ and vn.if_, "
            "instead of max and min vn.maximum and vn.minimum"
        )

    def __float__(self) -> float:
        raise TypeError(
            "an expression has no value while a model is made: functions of math, and float, are for numbers; "
            "write vn.sin for math.sin, vn.sqrt for math.sqrt, x**2 for math.pow(x, 2)"
        )

    def __int__(self) -> int:
        raise TypeError(
            "an expression has no value while a model is made: instead of int and round use vn.floor; "
            "-vn.floor(-x) rounds up"
        )

    __round__ = __floor__ = __ceil__ = __trunc__ = __int__


Operand = Expr | Fraction | Decimal | int | float | bool | str | np.generic


# What the operators above build: `vernal.model.build`, which is loaded with the package, enters its constructors here.
CONSTRUCTORS: dict[str, Callable[..., Expr]] = {}


def _made(constructor: str, *operands: Operand) -> Expr:
    return CONSTRUCTORS[constructor](*operands)


class Matrix:
    """Read-only float64 weights; every entry is exactly the rational it prints as, and equality is by content."""

    __slots__ = ("_hash", "array")

    def __init__(self, array: NDArray[np.float64]) -> None:
        self.array: NDArray[np.float64] = np.array(array, dtype=np.float64, order="C")
        self.array.setflags(write=False)
        self._hash = hash((self.array.shape, blake2b(self.array.data, digest_size=16).digest()))  # without a copy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self._hash == other._hash and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Matrix{self.array.shape}"

    def __reduce__(self) -> tuple[type[Matrix], tuple[NDArray[np.float64]]]:
        return Matrix, (self.array,)  # not the hash: each process has its own


class Role(Enum):
    """What a variable stands for."""

    STATE = "state"
    MEMORY = "memory"  # of an agent; a vector
    ACTION = "action"  # of an agent, under the agent's name; a scalar, or a vector of several components
    LET = "let"  # a named expression of the environment
    INPUT = "input"  # of a network, or any free input of a graph


class _Serials:
    """Serial numbers that ascend within a process and are no other's: a draw may travel to where others were made.

    They start with the time, so that a process numbers its draws after those it is given at its start, whatever their
    order decides, and at random within a nanosecond, for processes that start at once.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.numbers = itertools.count((time.time_ns() << 24) + secrets.randbits(24))

    def __call__(self) -> int:
        return next(self.numbers)


_serials = _Serials()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """The identity of a draw: where it was written, and at which step of an unrolling it is taken."""

    name: str = "draw"
    serial: int = field(default_factory=_serials, repr=False)
    step: int | None = None


def _forked() -> None:
    """A forked process makes draws of its own, and waits for no thread that it does not have."""
    _serials.restart()
    _Interned.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


# Leaves ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Const(Expr):
    """Exact numbers: one for a scalar, n for a vector. Truth values are 0 and 1, an enum value is its label's index."""

    values: tuple[Fraction, ...]

    @property
    def value(self) -> Fraction:
        """The number of a scalar."""
        assert not self.shape
        return self.values[0]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pi(Expr):
    """The circle number, the only constant that is not rational."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var(Expr):
    """A named unknown."""

    name: str
    role: Role


# Numbers, elementwise; a scalar argument goes with every component of a vector ---------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Add(Expr):
    """The sum of its arguments (two or more)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Neg(Expr):
    """-x"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mul(Expr):
    """x * y"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Div(Expr):
    """x / y, undefined where y is 0"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pow(Expr):
    """x ^ exponent; a fractional exponent p/q (lowest terms) needs x >= 0, a negative one x != 0."""

    exponent: Fraction


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Relu(Expr):
    """max(x, 0)"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LeakyRelu(Expr):
    """x where x >= 0, else slope * x; one slope for all components or one for each."""

    slopes: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Abs(Expr):
    """|x|"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Max(Expr):
    """The largest of its arguments, componentwise."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Min(Expr):
    """The smallest of its arguments, componentwise."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sign(Expr):
    """-1, 0 or 1"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Floor(Expr):
    """The largest integer not above x."""


class Function(Enum):
    """The nonlinear functions of one argument."""

    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ATAN = "atan"
    TANH = "tanh"
    ERF = "erf"
    EXP = "exp"
    EXPM1 = "expm1"
    LOG = "log"
    LOG1P = "log1p"
    SQRT = "sqrt"
    SIGMOID = "sigmoid"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nonlinear(Expr):
    """function(x); undefined outside the function's domain."""

    function: Function


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Atan2(Expr):
    """args = (y, x): the angle of the point (x, y), in (-pi, pi]; pi where y is 0 and x < 0, undefined at (0, 0)."""


# Vectors --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Affine(Expr):
    """W x + b for a vector x: weight has shape (m, n), bias (m,)."""

    weight: Matrix
    bias: Matrix


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gather(Expr):
    """The components of a vector at the given indices; a scalar if the shape says so."""

    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Concat(Expr):
    """Scalars and vectors, one after the other, as one vector."""


# Truth ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compare(Expr):
    """left op right with op one of `<`, `<=`, `==`, `!=`; the last two also for truth values and enums of one sort."""

    op: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Expr):
    """not p"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class And(Expr):
    """All of its arguments."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Or(Expr):
    """At least one of its arguments."""


# Control --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class If(Expr):
    """args = (condition, then, otherwise); componentwise where the condition is a vector."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Switch(Expr):
    """args = (subject, branch, ...): the branch whose case equals the scalar subject; the case None is the default."""

    cases: tuple[Fraction | None, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Argmax(Expr):
    """The index of a largest component; with several, any of them may be taken, once per occurrence and step."""

    occurrence: Occurrence


# Draws ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Choose(Expr):
    """One of its options, chosen nondeterministically: args = (option, ...), or (option, ..., guard, ...) with guards.

    An option whose guard is false does not exist in this step. It is kept as `if(guard, option, first)` with the first
    option whose guard is true, so that the options as they stand take exactly the values that exist as long as there
    is one; what depends on values alone need not look at the guards. Where none is left the step is not enabled.
    """

    occurrence: Occurrence
    guarded: bool = False

    @property
    def options(self) -> tuple[Expr, ...]:
        return self.args[: len(self.args) // 2] if self.guarded else self.args

    @property
    def guards(self) -> tuple[Expr, ...]:
        """The condition of each option; none at all where every option always exists."""
        return self.args[len(self.args) // 2 :] if self.guarded else ()

    @property
    def written(self) -> tuple[Expr, ...]:
        """The options as they were written, without what stands in for them where they do not exist."""
        if not self.guarded:
            return self.args
        pairs = zip(self.options, self.guards, strict=True)
        return tuple(o.args[1] if isinstance(o, If) and o.args[0] is guard else o for o, guard in pairs)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Between(Expr):
    """args = (low, high): some real from low to high, both included."""

    occurrence: Occurrence


Draw = Choose | Between
Decision = Choose | Between | Argmax
Component = tuple[Expr, int]  # a node, and which component of it
