"""Everything that can go wrong, as one tree.

    VernalError
    ├── InputError (ValueError)            what the user wrote; the command line ends with exit code 2
    │   ├── ParseError                     text that is not an expression, a formula or a TOML file
    │   ├── NameUnknown                    a name that is not declared, with the nearest one
    │   ├── TypeClash                      a bool in arithmetic, a real into an int, a wrong arity
    │   │   └── NoOption                   a guarded choice of which it is not known in time whether an option is left
    │   ├── FormatError                    a model file that is broken, too large or not what it claims to be
    │   │   └── UnsupportedOperator        a well-formed file that uses something Vernal does not read
    │   ├── UnsupportedFormula             a property outside the language or outside an engine
    │   ├── BeyondFloats (OverflowError)   numbers too large to compute with; of an engine's work, a reason for unknown
    │   ├── DataUnset                      a `data:` reference without a data folder
    │   ├── Problems                       several of the above, from one file
    │   └── FileMissing (FileNotFoundError)
    ├── MissingExtra (ImportError)         an optional dependency is needed; says which one to install
    └── Stopped                            a limit was reached or the user asked to stop; never shown as an error
        └── TooLong                        an exact number beyond the cap on its bits

Each says what is wrong, where, and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vernal.printable import shortened

MAX_PROBLEMS = 50  # that are shown of one input
MAX_LISTED = 12  # names
MAX_COMPARED = 1000  # names that are compared with a wrong one, and characters of each


@dataclass(frozen=True, slots=True)
class Place:
    """A point in a text: file, line and column (both from 1), and the line itself for the caret."""

    file: str | None
    line: int
    column: int
    text: str = ""
    width: int = 1

    def __str__(self) -> str:
        return f"{self.file or '<input>'}:{self.line}:{self.column}"

    def caret(self) -> str:
        """The offending line with a caret under it; long lines are cut around the caret."""
        if not self.text:
            return ""
        first = max(0, self.column - 1 - 60)
        shown = self.text[first : first + 120].replace("\t", " ")
        return f"    {shown}\n    {' ' * (self.column - 1 - first)}{'^' * max(1, min(self.width, 120))}"


class VernalError(Exception):
    """The root of all errors Vernal raises on purpose."""


class InputError(VernalError, ValueError):
    """Something in the input is wrong; `place` says where, if it is known."""

    def __init__(self, message: str, *, place: Place | None = None) -> None:
        self.message = message
        self.place = place
        super().__init__(self.render())

    def render(self) -> str:
        """The message as users see it: place, text, and a caret where there is one."""
        message = shortened(self.message)
        if self.place is None:
            return message
        caret = self.place.caret()
        return f"{self.place}: {message}" + (f"\n{caret}" if caret else "")

    def at(self, place: Place) -> InputError:
        """The same error, at a place."""
        return type(self)(self.message, place=place)


class ParseError(InputError):
    """Text that is not what the grammar expects."""


class NameUnknown(InputError):
    """A name that was never declared."""


class TypeClash(InputError):
    """Operands whose types, shapes or number do not fit the operator."""


class NoOption(TypeClash):
    """A guarded choice that may have no option where that cannot be known before the step; `choice` names it."""

    def __init__(self, message: str, *, place: Place | None = None, choice: str = "") -> None:
        self.choice = choice
        super().__init__(message, place=place)


class FormatError(InputError):
    """A model file that is broken, too large or not what it claims to be."""


class UnsupportedOperator(FormatError):
    """A well-formed model file that uses an operator Vernal does not read."""


class BeyondFloats(InputError, OverflowError):
    """Numbers that are too large, or too close to each other, to compute with in floating point."""


class UnsupportedFormula(InputError):
    """A property outside the language, or outside what an engine can decide."""


class FileMissing(InputError, FileNotFoundError):
    """A file that is not there."""

    def __str__(self) -> str:
        return self.render()


class DataUnset(InputError):
    """A reference into the data folder, which is not set."""


class Problems(InputError):
    """Several problems of one input, shown together."""

    def __init__(self, problems: Iterable[InputError]) -> None:
        self.problems = tuple(problems)
        shown = [problem.render() for problem in self.problems[:MAX_PROBLEMS]]
        more = [f"... and {len(self.problems) - MAX_PROBLEMS:,} more"] if len(self.problems) > MAX_PROBLEMS else []
        super().__init__("\n".join([*shown, *more]))

    def render(self) -> str:
        """All of them; each is cut already."""
        return self.message

    def __reduce__(self) -> tuple[type[Problems], tuple[tuple[InputError, ...]]]:
        return Problems, (self.problems,)


class MissingExtra(VernalError, ImportError):
    """An optional dependency is needed; the message says which extra brings it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra {extra!r}: pip install 'vernal[{extra}]'")
        self.what = what
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return MissingExtra, (self.what, self.extra)


class Stopped(VernalError):
    """A limit was reached (time, memory) or the user interrupted; carries the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TooLong(Stopped):
    """An exact number would have more bits than Vernal computes with; what depends on it stays open."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the closest known name, else the known ones, else nothing."""
    names = sorted(known)
    few = len(name) <= MAX_COMPARED and len(names) <= MAX_COMPARED  # comparing takes long
    close = difflib.get_close_matches(name, [one for one in names if len(one) <= MAX_COMPARED], n=1) if few else []
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {listed(names)}" if names else ""


def listed(names: Sequence[str]) -> str:
    """Some names, the first of many."""
    return ", ".join(names[:MAX_LISTED]) + (", ..." if len(names) > MAX_LISTED else "")
