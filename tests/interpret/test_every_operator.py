"""Every operator has a sound meaning in every interpretation, or is refused in the way that interpretation states.

`REFUSED` lists every refusal there is; a new operator without a sample, a meaning or an entry fails here.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from tests.available import is_here
from tests.interpret.milp.test_encode import encoder_of, pin_all, pin_decisions, solve
from tests.interpret.sets import abstract, contains, exact_value, inside, items
from tests.interpret.symbolic.test_affine import value_of
from tests.interpret.symbolic.test_execute import agrees, lies_on, piece
from tests.operators import BOX, SAMPLES, Kind, Sample, samples
from vernal.interpret import concrete, exact, interval
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.interval_bounds import Plain
from vernal.interpret.milp.rows import Unsuitable
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.reals import Undefined
from vernal.interpret.smt import NoTerm, Script, number
from vernal.interpret.symbolic.affine import AffineForm, Forms
from vernal.interpret.symbolic.execute import NotPiecewiseLinear, execute
from vernal.logic.elaboration import Scope, expression
from vernal.logic.printing import text
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Function
from vernal.model.graph import fresh, order, rewrite
from vernal.model.partial_evaluation import specialise
from vernal.model.sorts import BOOL, REAL
from vernal.model.system import OneOf
from vernal.model.traits import kinds
from vernal.model.travel import canonical, flatten, restore
from vernal.solvers.base import Satisfiable, SolveStatus

Taken = list[Sample]
Meaning = Callable[[Expr, Taken], bool]  # whether there is a meaning; where it is unsound, an assertion fails


def middle(x: Any) -> float:
    return float(x.mid()) if isinstance(x, arb) else float(x)


def in_exact(node: Expr, taken: Taken) -> bool:
    known = [item for sample in taken for item in items(sample.value)]
    assert not any(item is None or isinstance(item, Undefined) for item in known)
    assert all(item.rad() < 1e-30 for item in known if isinstance(item, arb))
    return True


def in_floats(node: Expr, taken: Taken) -> bool:
    for sample in taken:
        inputs = {var: np.array([np.array(value, dtype=np.float64)]) for var, value in sample.inputs.items()}
        for draw, value in sample.taken.items():
            if isinstance(draw, e.Between):  # a position between the ends
                low, high = exact.evaluate(draw.args, sample.inputs)
                value = (value - low) / (high - low)  # type: ignore[operator]
            if not isinstance(draw, e.Argmax):
                inputs[draw] = np.array([float(value)])
        (found,) = concrete.evaluate([node], inputs)
        expected = [middle(item) for item in items(sample.value)]
        assert np.allclose(np.ravel(found), expected, rtol=1e-14, atol=1e-14)
    return True


def in_intervals(node: Expr, taken: Taken) -> bool:
    (value,) = interval.evaluate([node], abstract([BOX]))
    assert all(contains(value, 0, sample.value) for sample in taken)
    return True


def in_linear_bounds(node: Expr, taken: Taken) -> bool:
    linear = Linear(abstract([BOX]))
    value = linear.value(node)
    assert all(contains(value, 0, sample.value) for sample in taken)
    if node.sort.is_number:
        form = linear.form(node)
        for sample in taken:
            at = sample.inputs | sample.taken
            for i, x in enumerate(items(sample.value)):
                low = exact_value(form.lower_coefficients[0, i], form.lower_constants[0, i], form.inputs, at)
                high = exact_value(form.upper_coefficients[0, i], form.upper_constants[0, i], form.inputs, at)
                assert low is not None
                assert high is not None
                assert inside(float(low) - 1e-15, float(high) + 1e-15, x)
    return True


def in_plain_bounds(node: Expr, taken: Taken) -> bool:
    value = Plain(abstract([BOX])).value(node)
    assert all(contains(value, 0, sample.value) for sample in taken)
    return True


def in_affine_forms(node: Expr, taken: Taken) -> bool:
    """Refused by None; at a point of the box everything rational is decided."""
    found = Forms(BOX).values(node)
    for sample in taken:
        for value, x in zip(found, items(sample.value), strict=True):
            assert not isinstance(value, AffineForm) or value_of(value, sample.inputs | sample.taken) == x
            assert not isinstance(value, bool) or value is x
            assert not isinstance(value, fmpq) or reals.fraction(value) == x
    at_points = [Forms(_at(sample)).values(node) for sample in taken]
    return not any(value is None for values in at_points for value in values)


def _at(sample: Sample) -> dict[Expr, list[tuple[Fraction, Fraction]]]:
    return {var: [(x, x) for x in items(value)] for var, value in sample.inputs.items()}


def in_pieces(node: Expr, taken: Taken) -> bool:
    for sample in taken:
        box = {var: BOX[var] if var.sort == REAL else [(value, value)] for var, value in sample.inputs.items()}
        inputs = sample.inputs | sample.taken
        try:
            on = [part for part in execute(piece(box), [node]) if lies_on(part, inputs)]
        except NotPiecewiseLinear:
            return False
        pairs = [(part, list(zip(part.known[node], items(sample.value), strict=True))) for part in on]
        assert any(all(agrees(value, x, part, inputs) for value, x in known) for part, known in pairs)
    return True


def in_rows(node: Expr, taken: Taken) -> bool:
    for sample in taken[:: max(1, len(taken) // 4)]:
        encoder = encoder_of(BOX)
        try:
            forms = encoder.need(node)
        except Unsuitable:
            return False
        for var in sample.inputs:
            encoder.need(var)
        if not pin_all(encoder, node, sample.value):  # not rational: near the middle of a small ball
            for form, x in zip(forms, items(sample.value), strict=True):
                for sign in (1.0, -1.0):
                    encoder.sheet.at_most(encoder.sheet.combine([(sign, form)]), sign * middle(x) + 1e-7)
        pin_decisions(encoder, sample.inputs | sample.taken)
        assert not encoder.sheet.infeasible
        assert solve(encoder.sheet).status is SolveStatus.OPTIMAL
    return True


def in_terms(node: Expr, taken: Taken) -> bool:
    for sample in taken[:: max(1, len(taken) // 4)]:
        script = Script({var: tuple(OneOf((x,)) for x in items(value)) for var, value in sample.inputs.items()})
        try:
            terms = script.need(node)
        except NoTerm:
            return False
        for term, x in zip(terms, items(sample.value), strict=True):
            if node.sort == BOOL:
                script.claim(term if x else f"(not {term})")
            else:
                low, high = reals.ends(x) if isinstance(x, arb) else (x, x)
                script.claim(f"(and (<= {number(low)} {term}) (<= {term} {number(high)}))")
        if is_here("smt"):
            from vernal.solvers.z3 import Z3

            assert Z3().check(script.text, script.unknowns, 20.0).status is Satisfiable.YES
    return True


def in_text(node: Expr, taken: Taken) -> bool:
    """Refused by a description in angle brackets."""
    shown = text(node)
    if shown.startswith("<") and shown.endswith(">"):
        return False
    scope = Scope({var.name: var for var in order([node]) if isinstance(var, e.Var)}, allow_draws=True)
    read = expression(shown, scope)
    assert text(read) == shown
    assert canonical([read]) == canonical([node])
    return True


def in_walks(node: Expr, taken: Taken) -> bool:
    """Nothing is lost where a graph is flattened, rebuilt, renewed or evaluated in part."""
    assert restore(flatten([node])) == [node]
    assert rewrite([node], lambda _: None) == [node]
    assert type(fresh([node], 3)[0]) is type(node)
    for sample in taken[:4]:
        known = {var: _constant(var, value) for var, value in sample.inputs.items() if not var.shape}
        (folded,) = specialise([node], known)
        rest = {var: value for var, value in sample.inputs.items() if var.shape}
        decided = {made: sample.taken[old] for old, made in zip(_free([node]), _free([folded]), strict=False)}
        (value,) = exact.evaluate([folded], rest, decided)
        assert [middle(item) for item in items(value)] == [middle(item) for item in items(sample.value)]
    return True


def _constant(var: Expr, value: Fraction) -> Expr:
    return build.const(bool(value)) if var.sort == BOOL else build.const(value)


def _free(roots: list[Expr]) -> list[Expr]:
    return [node for node in order(roots) if isinstance(node, e.Choose | e.Between | e.Argmax)]


MEANINGS: dict[str, Meaning] = {
    "exact": in_exact,
    "floats": in_floats,
    "intervals": in_intervals,
    "linear": in_linear_bounds,
    "plain": in_plain_bounds,
    "affine": in_affine_forms,
    "pieces": in_pieces,
    "rows": in_rows,
    "terms": in_terms,
    "text": in_text,
    "walks": in_walks,
}
TRANSCENDENTAL: set[Kind] = {*Function, e.Atan2}
REFUSED: dict[str, set[Kind]] = {
    "affine": {*TRANSCENDENTAL, e.Pi, e.Choose, e.Between},
    "pieces": {*TRANSCENDENTAL, e.Pi, e.Mul, e.Div, e.Pow},
    "terms": TRANSCENDENTAL - {Function.SQRT},
    "text": {e.Affine, e.Gather, e.Concat, e.LeakyRelu, e.Argmax},
}


def name(kind: Kind) -> str:
    return kind.value if isinstance(kind, Function) else kind.__name__


def test_every_operator_has_a_sample() -> None:
    assert set(SAMPLES) == (kinds() - {e.Nonlinear}) | set(Function)
    for kind, node in SAMPLES.items():
        assert node.function is kind if isinstance(node, e.Nonlinear) else type(node) is kind


@pytest.mark.parametrize("meaning", MEANINGS)
@pytest.mark.parametrize("kind", SAMPLES, ids=name)
def test_every_operator_has_a_meaning_or_is_refused(kind: Kind, meaning: str) -> None:
    node = SAMPLES[kind]
    assert MEANINGS[meaning](node, list(samples(node))) is (kind not in REFUSED.get(meaning, set()))
