"""Which LTL formulas may be read as CTL, claimed of all paths: fixpoints are quicker than a product."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import Bound, Eventually, Formula, Next, Quantifier, Temporal
from vernal.logic.normal import fold, nnf, rebuild
from vernal.logic.progress import on_paths


def of_all_paths(path: Formula) -> Formula | None:
    """The CTL formula that says of all paths what this LTL formula says; None where no simple one does.

    Each operator gets the quantifier A, and the strong `X[k] p` becomes `AF[k,k] p`: unlike `AX`, both are false at the
    end of a path. Whether the quantifiers change the meaning is asked the other way round, of `on_paths`.
    """
    try:
        quantified = fold(nnf(path), _quantified)
    except UnsupportedFormula:  # too large
        return None
    return None if on_paths(quantified) is None else quantified


def _quantified(node: Formula, args: tuple[Formula, ...]) -> Formula:
    if isinstance(node, Next):
        count = Fraction(node.count)
        return Eventually(args[0], Bound(count, count), Quantifier.ALL)
    made = rebuild(node, args)
    return replace(made, quantifier=Quantifier.ALL) if isinstance(made, Temporal) else made
