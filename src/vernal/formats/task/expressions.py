"""Reading the expressions of a task file: every problem is collected at its place, and what follows from it is not.

A definition that could not be understood makes its name *broken*. Whatever mentions a broken name is skipped without a
word, so that one mistake is one message.
"""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

from vernal.errors import DataUnset, InputError, NameUnknown, ParseError, Place, Problems, TypeClash, UnsupportedFormula
from vernal.formats.task.names import FIXED, Owner, Use, refuse, words
from vernal.formats.task.places import Path, Places
from vernal.logic.elaboration import Scope, components, expression, formula
from vernal.logic.formula import Formula
from vernal.logic.parser import MAX_DIGITS, MAX_EXPONENT, parse, parse_region
from vernal.logic.scope import Repetition
from vernal.logic.syntax import Source, Syntax
from vernal.logic.times import untimed
from vernal.model import build
from vernal.model.expr import Const, Expr
from vernal.model.index_range import IndexRange
from vernal.model.network import Network
from vernal.model.sorts import BOOL, Sort, join
from vernal.model.tick import Tick, idle

MAX_BITS = 4000  # of an integer in the file, about as much as the parser's digits; more is a slip or an attack


class Skip(Exception):
    """This depends on something that was reported already."""


@dataclass(slots=True)
class Reader:
    """What is known about a file so far, and what is wrong with it."""

    places: Places
    owners: Mapping[str, Owner]
    broken: set[str] = field(default_factory=set)
    problems: list[InputError] = field(default_factory=list)
    names: dict[str, Expr] = field(default_factory=dict)
    functions: dict[str, Network] = field(default_factory=dict)
    skipped: bool = False  # something was left out, so the file must not be accepted
    doubtful: bool = False  # a whole table could not be read: an unknown name may well be declared in it
    replaced: dict[Path, Source] = field(default_factory=dict)  # texts that come from elsewhere than the file
    parsed: dict[Path, tuple[Syntax, Source]] = field(default_factory=dict)
    arrays: dict[str, tuple[Expr, ...]] = field(default_factory=dict)  # of state variables
    ranges: dict[str, IndexRange] = field(default_factory=dict)
    repetition: Repetition = field(default_factory=Repetition)
    tick: Tick = idle  # called before every entry of the file

    def place(self, path: Path) -> Place:
        """Where the value at a path stands."""
        source = self.replaced.get(path)
        return source.place(0, len(source.text)) if source else self.places.value_place(path)

    @contextmanager
    def collect(self, path: Path, *breaks: str) -> Iterator[None]:
        """Note an error instead of raising it, at this path unless it knows better; the given names are then broken."""
        self.tick()
        try:
            yield
        except Skip:
            self.broken.update(breaks)
            self.skipped = True
        except InputError as error:
            self.broken.update(breaks)
            if self.doubtful and isinstance(error, NameUnknown):
                self.skipped = True
                return
            self.problems.append(error if error.place else error.at(self.place(path)))

    def parse(self, path: Path, *, region: bool = False) -> tuple[Syntax, Source]:
        """The text at a path as written, and where it stands."""
        if path not in self.parsed:
            source = self.replaced.get(path) or self.places.source(path)
            self.parsed[path] = (parse_region if region else parse)(source, self.tick), source
        return self.parsed[path]

    def expression(
        self,
        path: Path,
        value: object,
        use: Use,
        *,
        draws: str | None = None,
        expected: Sort | None = None,
        extra: Mapping[str, Expr] | None = None,
    ) -> Expr:
        """An expression or a plain number; `draws` names the draws it may take, None means none are allowed."""
        if not isinstance(value, str):
            node = self.number(path, value)
            if expected is not None and join(node.sort, expected) != expected:
                raise TypeClash(f"expected {expected}, but this is {node.sort}", place=self.place(path))
            return node
        syntax, source = self.parse(path)
        self.check_names(syntax, source, use)
        names = ChainMap(dict(extra), self.names) if extra else self.names
        return expression(syntax, replace(self.scope(draws), names=names), expected, source=source)

    def scope(self, draws: str | None = None) -> Scope:
        """All names that are known so far; `draws` names the draws that may be taken."""
        return Scope(
            self.names,
            self.functions,
            allow_draws=draws is not None,
            draw_name=draws or "draw",
            arrays=self.arrays,
            ranges=self.ranges,
            repetition=self.repetition,
        )

    def components(
        self, path: Path, use: Use, sort: Sort, size: int, *, draws: str | None = None, region: bool = False
    ) -> list[Expr]:
        """An expression for each component of an array, from one text."""
        syntax, source = self.parse(path, region=region)
        self.check_names(syntax, source, use)
        return components(syntax, self.scope(draws), sort, size, source=source)

    def truth(self, path: Path, value: object, use: Use) -> Expr:
        """A single truth value."""
        node = self.expression(path, value, use, expected=BOOL)
        if node.shape:
            raise TypeClash(f"{use.what} is one truth value, but this is a vector of {node.size}")
        return node

    def formula(self, path: Path, use: Use, drawn: frozenset[str], *, discrete: bool = True) -> Formula:
        """A property of a system, or of a flow."""
        syntax, source = self.parse(path)
        self.check_names(syntax, source, use)
        made = formula(syntax, replace(self.scope(), drawn=drawn), discrete, source=source)
        problem = None if discrete else untimed(made)
        if problem is not None:
            raise UnsupportedFormula(problem, place=source.place(*syntax.span))
        return made

    def check_names(self, syntax: Syntax, source: Source, use: Use) -> None:
        """Skip what mentions something broken, refuse what mentions something of the wrong kind."""
        if words(syntax) & self.broken:
            raise Skip
        refuse(syntax, source, self.owners, use)

    def number(self, path: Path, value: object) -> Expr:
        """A number or truth value of the file, exactly as written: 0.1 is one tenth."""
        if isinstance(value, bool):
            return build.const(value)
        if isinstance(value, float):
            return build.const(self._decimal(path, value))
        assert isinstance(value, int)
        if value.bit_length() > MAX_BITS:
            raise ParseError("this number is too long", place=self.place(path))
        return build.const(Fraction(value))

    def _decimal(self, path: Path, value: float) -> Fraction:
        text = self.places.source(path).text.replace("_", "")
        exponent = re.search(r"[eE][+-]?0*([0-9]+)", text)
        if len(text) > MAX_DIGITS or (exponent and int(exponent[1]) > MAX_EXPONENT):
            raise ParseError("this number is too long or too large", place=self.place(path))
        if math.isnan(value) or text.lstrip("+-") == "inf":
            raise ParseError(f"{text} is not a number Vernal computes with", place=self.place(path))
        return Fraction(text)

    def constant(self, path: Path, value: object, use: Use) -> Fraction:
        """A number that is known before anything runs."""
        if not isinstance(value, str):
            return self.rational(self.number(path, value), use.what)
        syntax, source = self.parse(path)
        return self.constant_of(syntax, source, use.what, use.allowed)

    def constant_of(self, syntax: Syntax, source: Source, what: str, allowed: frozenset[Owner] = FIXED) -> Fraction:
        """The same, from a piece of text."""
        self.check_names(syntax, source, Use(what, allowed))
        node = expression(syntax, self.scope(), source=source)
        try:
            return self.rational(node, what)
        except TypeClash as error:
            raise error.at(source.place(*syntax.span)) from None

    def rational(self, node: Expr, what: str) -> Fraction:
        if not node.sort.is_number:
            raise TypeClash(f"{what} must be a number, but this is of sort {node.sort}")
        if not isinstance(node, Const) or node.shape:
            raise TypeClash(f"{what} must be a rational number known in advance (pi, sin, exp, ... are not rational)")
        return node.value

    def done(self) -> None:
        """Raise what was collected, if anything was."""
        if self.skipped and not self.problems:  # a task that lost a part in silence would be a wrong verdict later
            raise RuntimeError("a part of the task was skipped without a problem to show for it")
        problems = _once(sorted(self.problems, key=_position))
        if len(problems) == 1:
            raise problems[0]
        if problems:
            raise Problems(problems)


def _once(problems: list[InputError]) -> list[InputError]:
    """A data folder that is not set is one problem, however many files are in it."""
    unset = [problem for problem in problems if isinstance(problem, DataUnset)]
    return [problem for problem in problems if problem not in unset[1:]]


def _position(error: InputError) -> tuple[str, int, int]:
    place = error.place
    return (place.file or "", place.line, place.column) if place else ("", 0, 0)
