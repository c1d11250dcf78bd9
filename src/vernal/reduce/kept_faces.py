"""Atoms of a claim in seconds that are true, or false, wherever a flow comes, since no path crosses where paths begin.

Of x' = -x from [0.5, 0.6] no path is ever above 0.6: there x falls, whatever else is so in the region. No set in
floating point shows that, since there is no room: 0.6 is no float. The argument is that of barriers: where the rate of
a variable is below zero all along the face at its largest first value, a path beyond that face would have crossed it
upward; and where it is nowhere above zero in the region, nothing is above the first values. The claim with these atoms
replaced says the same of all paths (EXACT).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from vernal.evidence.knowledge import Known, Proof
from vernal.evidence.result import Assurance
from vernal.interpret.ends import PartialEnds
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.direction import Direction
from vernal.logic.formula import Atom, Formula
from vernal.logic.normal import FALSITY, TRUTH, fold, order, rebuild
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.logic.vacuity import simplified
from vernal.model.expr import Expr, Var
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.reduce.constant_atoms import truth_within
from vernal.reduce.reduction import Subquestion, first_decided
from vernal.run.budget import Budget
from vernal.sets.monotone import rate_bounds

SHOWS_NOTHING = "the rates there decide it, and nothing is left that could be replayed: asking again is the check"
FACE_ROUNDS = 3  # in which faces that are kept make others so


@dataclass(frozen=True)
class KeptFaces:
    """The claim without the atoms that have one truth value in all states that are reached."""

    name = "kept faces"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        known = known_atoms(question)
        left = _without(question.formula, known)
        if left == TRUTH:
            return
        asked = replace(question, formula=left) if known and left != FALSITY else question
        yield Subquestion(asked, self.direction, notes=_notes(known) if asked is not question else ())

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        """The margin of what is left is none of the claim: an atom that is always true may be so by less.

        Where nothing is left there are no sets to be shown, and the notes say why the claim is true.
        """
        if found:
            return first_decided(found)
        notes = (*_notes(known_atoms(question)), SHOWS_NOTHING)
        return Proof(engine="", direction=self.direction, assurance=Assurance.RIGOROUS, notes=notes)


def known_atoms(question: Question) -> dict[Expr, bool]:
    """Atoms of a claim that have one truth value wherever its flow comes."""
    flows = question.time is Time.SECONDS and question.model.motion.rates is not None
    ends: dict[Expr, PartialEnds] = dict(kept_ends(question.model).items()) if flows else {}
    atoms = {node.expr for node in order(question.formula) if isinstance(node, Atom)} if ends else set()
    return {atom: truth for atom in atoms if (truth := _narrowly(question.atoms[atom], ends)) is not None}


def _without(formula: Formula, known: Mapping[Expr, bool]) -> Formula:
    """The formula with the truth values of these atoms in their place."""

    def replaced(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if not isinstance(node, Atom):
            return rebuild(node, args)
        truth = known.get(node.expr)
        return node if truth is None else TRUTH if truth else FALSITY

    return simplified(fold(formula, replaced)) if known else formula


def _notes(known: Mapping[Expr, bool]) -> tuple[str, ...]:
    """What is known of atoms, in words."""
    said = sorted(f"{Atom(atom)} is always {str(truth).lower()}" for atom, truth in known.items())
    return (f"no path leaves these ends of the initial set outward: {', '.join(said)}",) if said else ()


def _narrowly(node: Expr, ends: Mapping[Expr, PartialEnds]) -> bool | None:
    """The truth value of a comparison between these ends, if it has none between the nearest floats around them.

    Where it has, sets in floating point show it, which are evidence.
    """
    truth = truth_within(node, ends)
    wider = {var: (_rounded(low, float_below), _rounded(high, float_above)) for var, (low, high) in ends.items()}
    return None if truth is None or truth_within(node, wider) is not None else truth


def _rounded(end: Fraction | None, rounding: Callable[[Fraction], float]) -> Fraction | None:
    return None if end is None else Fraction(rounding(end))


def kept_ends(model: Model) -> dict[Var, PartialEnds]:
    """Exact ends beyond which no path comes, of variables that only flow; where none is known, the region's."""
    plant = plant_of(model)
    flow = plant.flow
    reset = {*plant.holds, *plant.jump}
    names = [k for k, var in enumerate(flow.vars) if var.sort == REAL and var not in reset]
    starts = [flow.initial.starts[var][0].ends for var in flow.vars]
    box = np.array([[float_below(low) for low, _ in flow.region], [float_above(high) for _, high in flow.region]])
    found: dict[tuple[int, int], Fraction] = {}
    for _ in range(FACE_ROUNDS):
        before = len(found)
        for k in names:
            for side in (0, 1):
                end = starts[k][side]
                if (k, side) not in found and _is_kept(flow, box, k, side, end):
                    found[k, side] = end
                    rounded = (float_below, float_above)[side](end)
                    box[side, k] = max(box[0, k], rounded) if side == 0 else min(box[1, k], rounded)
        if len(found) == before:
            break
    kept = sorted({k for k, _ in found})
    return {flow.vars[k]: (found.get((k, 0), flow.region[k][0]), found.get((k, 1), flow.region[k][1])) for k in kept}


def _is_kept(flow: Model, box: Floats, k: int, side: int, end: Fraction) -> bool:
    """Whether no path comes beyond an end of the first values of a variable."""
    sign = 1.0 if side else -1.0
    if float(sign * _fastest(flow, box, k, sign)) <= 0:
        return True
    face = box.copy()
    face[0, k], face[1, k] = np.nextafter(float_below(end), -np.inf), np.nextafter(float_above(end), np.inf)
    return float(sign * _fastest(flow, face, k, sign)) < 0


def _fastest(flow: Model, box: Floats, k: int, sign: float) -> float:
    """The largest rate of a variable over a box, or the least one."""
    least, most = rate_bounds(flow, [flow.vector_field[k]], box[0], box[1])
    return float(most[0] if sign > 0 else least[0])
