"""Conditions, choices and branches as rows: the discrete half of the mixed-integer meaning.

The truth of a condition is a form p that is 0 or 1: where p = 1 the closed condition holds, where p = 0 its closed
negation. At equality both are allowed, for strict and non-strict comparisons alike, so nothing that is possible is
lost. Integers have no such boundary: there `a < b` is `a <= b - 1`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from vernal.interpret.linear import choice as linear_choice
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.milp.needed_arguments import live_branches
from vernal.interpret.milp.rows import ONE, ZERO, ColumnForm, ColumnForms, Sheet, at
from vernal.interpret.symbolic.affine import Forms
from vernal.interpret.value_sets import Finite, Truth
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Occurrence
from vernal.model.sorts import INT, Kind

EXACT_BELOW = 1e-9  # relative; a margin this close to zero is asked of exact forms


class Encodes(Protocol):
    """What conditions, choices and branches use of the encoder."""

    sheet: Sheet
    linear: Linear
    exact: Forms | None
    values: dict[Expr, ColumnForms]
    truths: dict[Expr, bool | None]
    picks: dict[Occurrence, ColumnForms]

    def need(self, node: Expr) -> ColumnForms: ...

    def ends(self, node: Expr, component: int = 0, *, tight: bool = True) -> tuple[float, float]: ...


def decided(encoder: Encodes, node: Expr) -> bool | None:
    """A scalar condition that bounds decide, or, at margin zero, exact forms."""
    if node not in encoder.truths:
        encoder.truths[node] = bool(node.value) if isinstance(node, e.Const) else _decide(encoder, node)
    return encoder.truths[node]


def _decide(encoder: Encodes, node: Expr) -> bool | None:
    truth = encoder.linear.value(node)
    assert isinstance(truth, Truth)
    must, may = bool(np.ravel(truth.must[0])[0]), bool(np.ravel(truth.may[0])[0])
    if must == may:
        return must
    if encoder.exact is None or not isinstance(node, e.Compare) or not _is_close(encoder, node):
        return None
    return encoder.exact.truth(node)


def _is_close(encoder: Encodes, node: e.Compare) -> bool:
    """Whether rounding may be all that keeps a comparison open."""
    if not node.args[0].sort.is_number:
        return False
    gap = encoder.linear.margin(node)
    low, high = float(gap.lower[0]), float(gap.upper[0])
    return min(abs(low), abs(high)) <= EXACT_BELOW * (1 + max(abs(low), abs(high)))


# Truth ----------------------------------------------------------------------------------------------------------------


def truth(encoder: Encodes, node: Expr) -> ColumnForms:
    """The 0/1 forms of a comparison or a connective."""
    sheet = encoder.sheet
    if isinstance(node, e.And | e.Or):
        # Settled arguments do not decide, or the whole were settled: they are the neutral ones.
        live = [encoder.values[arg] for arg in node.args if arg in encoder.values]
        join = sheet.both if isinstance(node, e.And) else sheet.either
        return tuple(join([at(values, i) for values in live]) for i in range(node.size))
    if isinstance(node, e.Not):
        return tuple(sheet.negation(form) for form in encoder.values[node.args[0]])
    assert isinstance(node, e.Compare)
    if node.args[0].sort.is_number:
        return tuple(_compare(encoder, node, i) for i in range(node.size))
    return tuple(_same_label(encoder, node, i) for i in range(node.size))


def _same_label(encoder: Encodes, node: e.Compare, component: int) -> ColumnForm:
    """Equality of labels, or of truth values as if they were two labels."""
    sheet = encoder.sheet
    left, right = (_one_hot(encoder, arg, component) for arg in node.args)
    equal = sheet.either([sheet.both(pair) for pair in zip(left, right, strict=True)])
    return equal if node.op == "==" else sheet.negation(equal)


def _one_hot(encoder: Encodes, node: Expr, component: int) -> Sequence[ColumnForm]:
    values = encoder.values[node]
    if node.sort.kind is Kind.ENUM:
        return values
    form = values[component if len(values) > 1 else 0]
    return (encoder.sheet.negation(form), form)


def _compare(encoder: Encodes, node: e.Compare, component: int) -> ColumnForm:
    """A binary for each way the sides can compare."""
    sheet = encoder.sheet
    gap, top, bottom = _gap(encoder, node, component)
    if node.op in ("<", "<="):
        if top < 0 or bottom > 0:
            return ONE if top < 0 else ZERO
        holds = sheet.binary()
        _below(encoder, node, gap, holds, top, strict=node.op == "<")
        _below(encoder, node, _minus(gap), sheet.negation(holds), -bottom, strict=node.op == "<=")
        return holds
    equal, below, above = sheet.one_of(3)
    _below(encoder, node, gap, below, top, strict=True)
    _below(encoder, node, _minus(gap), above, -bottom, strict=True)
    _equal(encoder, node, gap, equal)
    return equal if node.op == "==" else sheet.negation(equal)


def _gap(encoder: Encodes, node: e.Compare, component: int) -> tuple[ColumnForm, float, float]:
    """left - right, and its largest and least value."""
    form = encoder.sheet.minus(*(at(encoder.values[arg], component) for arg in node.args))
    x = encoder.linear.margin(node)
    least, most = (float(np.ravel(end[0])[component if node.size > 1 else 0]) for end in (x.lower, x.upper))
    return form, -least, -most


def _minus(form: ColumnForm) -> ColumnForm:
    return ColumnForm({c: -v for c, v in form.terms.items()}, -form.constant, form.error, form.size)


def _is_integral(node: e.Compare) -> bool:
    return all(arg.sort == INT for arg in node.args)


def _below(encoder: Encodes, node: e.Compare, gap: ColumnForm, where: ColumnForm, top: float, strict: bool) -> None:
    """gap < 0 (or <= 0) where a truth is 1."""
    if not _is_integral(node):
        encoder.sheet.decide(gap, where, top)
    else:
        step = encoder.sheet.combine([(1.0, gap)], 1.0 if strict else 0.0)
        encoder.sheet.when(where, step, top + strict)


def _equal(encoder: Encodes, node: e.Compare, gap: ColumnForm, where: ColumnForm) -> None:
    if not _is_integral(node):
        encoder.sheet.vanish(gap, where)
    else:
        encoder.sheet.when(where, gap)
        encoder.sheet.when(where, _minus(gap))


# What has to be true --------------------------------------------------------------------------------------------------


def require(encoder: Encodes, condition: Expr, wanted: bool) -> None:
    """Rows for a condition at the top: no binary where the condition is a conjunction of comparisons."""
    stack = [(condition, wanted)]
    while stack:
        node, positive = stack.pop()
        known = decided(encoder, node)
        if known is not None:
            encoder.sheet.infeasible |= known is not positive
        elif isinstance(node, e.Not):
            stack.append((node.args[0], not positive))
        elif isinstance(node, e.And if positive else e.Or):
            stack.extend((arg, positive) for arg in node.args)
        elif isinstance(node, e.Compare) and node.args[0].sort.is_number and _has_row(node, positive):
            _require_row(encoder, node, positive)
        else:
            (form,) = encoder.need(node)
            encoder.sheet.equal(form, ONE if positive else ZERO)


def _has_row(node: e.Compare, positive: bool) -> bool:
    return node.op in ("<", "<=") or (node.op == "==") == positive


def _require_row(encoder: Encodes, node: e.Compare, positive: bool) -> None:
    for arg in node.args:
        encoder.need(arg)
    gap, top, bottom = _gap(encoder, node, 0)
    if node.op in ("==", "!="):
        _equal(encoder, node, gap, ONE)
    elif positive:
        _below(encoder, node, gap, ONE, top, strict=node.op == "<")
    else:
        _below(encoder, node, _minus(gap), ONE, -bottom, strict=node.op == "<=")


# Branches and choices -------------------------------------------------------------------------------------------------


def branch(encoder: Encodes, node: Expr) -> ColumnForms:
    """The value of the branch taken: one big-M pair a branch and component, none where one branch is left."""
    options, picks = _options(encoder, node)
    if len(options) == 1:
        return _spread(node, encoder.values[options[0]])
    made = []
    for i in range(_width(node)):
        forms = [at(encoder.values[arg], i) for arg in options]
        lower, upper = encoder.ends(node, i, tight=False) if node.sort.is_number else (0.0, 1.0)
        made.append(encoder.sheet.select(picks[i if len(picks) > 1 else 0], forms, lower, upper))
    return tuple(made)


def _width(node: Expr) -> int:
    return len(node.sort.labels) if node.sort.kind is Kind.ENUM else node.size


def _spread(node: Expr, values: ColumnForms) -> ColumnForms:
    return values * node.size if node.shape and len(values) == 1 else values


def _options(encoder: Encodes, node: Expr) -> tuple[Sequence[Expr], list[Sequence[ColumnForm]]]:
    """The branches in question, and who picks among them: once, or once for each component."""
    if isinstance(node, e.Choose):
        picks = encoder.sheet.one_of(len(node.options))
        encoder.picks[node.occurrence] = tuple(picks)
        return node.options, [picks]
    assert isinstance(node, e.If | e.Switch)
    branches = live_branches(encoder.linear, node)
    if len(branches) == 1:
        return branches, []
    if isinstance(node, e.If):
        truths = encoder.values[node.args[0]]
        return node.args[1:], [(p, encoder.sheet.negation(p)) for p in truths]
    return _cases(encoder, node, branches)


def _cases(
    encoder: Encodes, node: e.Switch, branches: Sequence[Expr]
) -> tuple[Sequence[Expr], list[Sequence[ColumnForm]]]:
    """A `match`: each case is picked where the subject has its value, the default where none of them is."""
    subject = node.args[0]
    tests = {case: _has_value(encoder, node, index) for index, case in enumerate(node.cases) if case is not None}
    listed = [form for form in tests.values() if not (form.is_constant and form.constant == 0.0)]
    rest = encoder.sheet.negation(encoder.sheet.combine([(1.0, form) for form in listed])) if listed else ONE
    alive = set(branches)
    pairs = [
        (arg, rest if case is None else tests[case])
        for case, arg in zip(node.cases, node.args[1:], strict=True)
        if arg in alive
    ]
    if subject.sort.kind is Kind.REAL:  # closed tests: at most one case holds up to the equality slack
        encoder.sheet.at_most(encoder.sheet.combine([(1.0, form) for form in listed]), 1.0)
    return [arg for arg, _ in pairs], [[form for _, form in pairs]]


def _has_value(encoder: Encodes, node: e.Switch, index: int) -> ColumnForm:
    """The 0/1 form of `subject == case`."""
    subject, case = node.args[0], node.cases[index]
    assert case is not None
    if isinstance(subject, e.Argmax):
        picks = encoder.picks[subject.occurrence]
        return picks[int(case)] if case.denominator == 1 and 0 <= case < len(picks) else ZERO
    if subject.sort.is_number:
        test = case_tests(node)[index]
        return encoder.values[test][0]
    return _one_hot(encoder, subject, 0)[int(case)]


def case_tests(node: e.Switch) -> tuple[Expr, ...]:
    """`subject == case` for each case of a match over numbers."""
    return tuple(build.eq(node.args[0], case) for case in node.cases if case is not None)


def argmax(encoder: Encodes, node: e.Argmax) -> ColumnForms:
    """A binary for each index that may win; its score is not below any other's. Ties are free."""
    sheet, scores = encoder.sheet, node.args[0]
    value = encoder.linear.value(node)
    assert isinstance(value, Finite)
    possible = [int(index) for index in np.flatnonzero(np.ravel(value.mask[0]))]
    picks = dict(zip(possible, sheet.one_of(len(possible)), strict=True))
    for vector, used in _voters(encoder, scores):
        _win(encoder, vector, used, picks)
    every = tuple(picks.get(index, ZERO) for index in range(scores.size))
    encoder.picks[node.occurrence] = every
    if node.sort.kind is Kind.ENUM:
        return every
    return (sheet.combine([(float(index), pick) for index, pick in picks.items()]),)


def selects_scores(node: Expr) -> bool:
    """Whether one of several score vectors is in use: then the winner is decided for each of them, without a copy."""
    branches = isinstance(node, e.If | e.Switch) and not node.args[0].shape
    return branches and all(arg.shape == node.shape for arg in node.args[1:])


def _voters(encoder: Encodes, scores: Expr) -> list[tuple[Expr, ColumnForm]]:
    """The score vectors that may be in use, each with the 0/1 form of its being so."""
    if scores in encoder.values:
        return [(scores, ONE)]
    options, picks = _options(encoder, scores)
    return list(zip(options, picks[0] if picks else [ONE], strict=True))


def _win(encoder: Encodes, scores: Expr, used: ColumnForm, picks: Mapping[int, ColumnForm]) -> None:
    """Where these scores are in use, the winner's is not below any other's; who cannot win with them, does not."""
    sheet, forms = encoder.sheet, encoder.values[scores]
    index = encoder.linear.backend.array(np.arange(encoder.linear.batch))
    with np.errstate(all="ignore"):
        mask = np.asarray(linear_choice.winners(encoder.linear, scores, index))[0]
    able = [place for place in picks if mask[place]]
    for place, pick in picks.items():
        both = used if pick is ONE else pick if used is ONE else sheet.combine([(1.0, pick), (1.0, used)], -1.0)
        if not mask[place]:
            sheet.at_most(both)
            continue
        for rival in able:
            if rival != place:
                sheet.decide(sheet.minus(forms[rival], forms[place]), both)
