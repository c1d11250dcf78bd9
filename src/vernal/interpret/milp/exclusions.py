"""A state of integers, labels and truth values that a program may not begin in: one row, and what it needs.

Some variable differs from its value in that state. Of an integer this takes two binaries, one for each side.
"""

from __future__ import annotations

from collections.abc import Iterator

from vernal.interpret.milp.encode import Encoder
from vernal.interpret.milp.rows import ONE, ColumnForm
from vernal.model.expr import Expr
from vernal.model.initial import Valuation
from vernal.model.sorts import Kind


def exclude(encoder: Encoder, state: Valuation) -> None:
    """No point of the program begins in this state; all variables are discrete."""
    different = [form for var in encoder.starts for form in _differs(encoder, var, state)]
    sheet = encoder.sheet
    sheet.at_most(sheet.combine([(-1.0, form) for form in different], 1.0))


def _differs(encoder: Encoder, var: Expr, state: Valuation) -> Iterator[ColumnForm]:
    """Forms of which one is 1 only where a variable has another value."""
    sheet, forms = encoder.sheet, encoder.need(var)
    for place, value in enumerate(state[var]):
        match var.sort.kind:
            case Kind.ENUM:
                yield sheet.negation(forms[int(value)])
            case Kind.BOOL:
                yield sheet.negation(forms[place]) if value else forms[place]
            case _:
                for sign in (1.0, -1.0):
                    beyond = sheet.combine([(sign, forms[place])], 1.0 - sign * float(value))
                    if sheet.bottom(beyond) <= 0:
                        side = sheet.binary() if sheet.top(beyond) > 0 else ONE
                        sheet.when(side, beyond)
                        yield side
