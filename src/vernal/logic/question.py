"""Questions: does the model keep the formula?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vernal.logic.claim import Claim, claim_of
from vernal.logic.formula import Formula
from vernal.logic.task import UNSAID, AbstractionSettings, OptionLabels
from vernal.logic.times import Time
from vernal.model.build import TRUE
from vernal.model.expr import Expr
from vernal.model.initial import Init
from vernal.model.lazy import cached_property
from vernal.model.portable import Portable
from vernal.model.system import Model, System


@dataclass(frozen=True)
class Question(Portable):
    """Does the model keep the formula?"""

    model: Model
    formula: Formula
    name: str | None = None  # of the property, where it has one
    predicates: tuple[Expr, ...] = ()  # by which an abstraction tells states apart; no part of what is asked
    labels: OptionLabels = field(default_factory=dict, hash=False)  # for whoever shows transitions, likewise
    settings: AbstractionSettings = UNSAID  # for whoever abstracts a flow, likewise
    counts: Time | None = None  # what positions and bounds count, where it is not what the motion says

    @property
    def system(self) -> System:
        """The model as one that moves in steps; whoever needs steps asks for it."""
        assert isinstance(self.model, System), "an engine of steps takes no flow"
        return self.model

    @property
    def time(self) -> Time:
        """The kind of time of the claim."""
        return self.counts or self.model.motion.time

    @cached_property
    def claim(self) -> Claim:
        """What the formula claims."""
        return claim_of(self.formula, self.time)

    @cached_property
    def atoms(self) -> Mapping[Expr, Expr]:
        """Every atom as written, and over state, memory and draws."""
        return {atom: self.model.resolve(atom) for atom in self.claim.atoms}

    def starting(self, init: Init) -> Question:
        """The same claim about the same model from elsewhere; the graph and what is known of the claim are shared."""
        return self.of(self.model.starting(init))

    def of(self, model: Model) -> Question:
        """The same claim about a model that differs in where it starts."""
        moved = replace(self, model=model)
        moved.__dict__["claim"] = self.claim  # where cached_property keeps it
        return moved

    @property
    def is_total(self) -> bool:
        """Whether no path of the model ends; one through continuous time may, where it leaves the region."""
        return self.time is Time.STEPS and self.model.step.enabled is TRUE
