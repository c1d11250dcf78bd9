"""The engine `predicates`: does any state that the policy reaches violate a condition? By predicate abstraction.

States that agree in some predicates are one abstract state. If no abstract state that may violate the condition is
reachable, none is (OVER). Otherwise concrete states are followed along the abstract ones; a path that gets there is
replayed exactly, and else the predicates are refined where the abstraction promised too much. For every abstract state
in which paths begin it is known at the end whether it is safe, unsafe with a path, or undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from vernal.engines.base import Engine
from vernal.engines.options import PredicateOptions, TransitionTest
from vernal.engines.predicates.abstraction import Abstraction
from vernal.engines.predicates.abstraction_data import StartOutcomes, finite_abstraction
from vernal.engines.predicates.atoms import NotLinear
from vernal.engines.predicates.concrete_states import ConcreteStates
from vernal.engines.predicates.configurations import ConfiguredTests
from vernal.engines.predicates.danger import MAX_STATES, Followed, UnsafeSearch
from vernal.engines.predicates.expansion import PointTests
from vernal.engines.predicates.integer_model import OperatorModel, unbounded_variable
from vernal.engines.predicates.policy import PolicyBounds
from vernal.engines.predicates.program_tests import ProgramTests
from vernal.engines.predicates.refinement import Refinement
from vernal.engines.predicates.shortest_paths import with_shortest_path
from vernal.engines.predicates.witnesses import WitnessSearch
from vernal.engines.refusals import in_steps
from vernal.errors import Stopped
from vernal.evidence.candidates import refuting_path
from vernal.evidence.knowledge import Counterexample, Known, Open, Proof
from vernal.interpret.relus import NoColumn
from vernal.interpret.smt import NoTerm
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim
from vernal.model.build import FALSE
from vernal.model.expr import Expr
from vernal.reduce.operators import NoOperators
from vernal.run.budget import Budget
from vernal.sets.finite.columns import NotFinite

MAX_REPLAYS = 64  # of unsafe paths from different abstract starts
MAX_ROUNDS = 200  # of refinement
MAX_CELLS_WITH_UNSAFE = 60  # abstract states that are explored where an unsafe one will be refined away
MAX_CELLS_UNDIVIDED = 250  # the same where none is unsafe so far
UNDIVIDED_GROWTH = 6  # of that whenever it was met: most predicates are missing at first, and later ones cost rounds
MAX_FOLLOWED_FIRST = 2000  # concrete states, from no predicates, while cells are coarse; every round four times as many
UNSUITED = "not supported by this engine: it is for claims that a condition is kept for all time, as in G p"


MakeEngine = Callable[[], Engine]


class Predicates:
    """The engine `predicates`."""

    name = "predicates"

    def __init__(self, options: PredicateOptions | None, programs: MakeEngine) -> None:
        """`programs` makes an engine for the tests that a search gives up: mostly there is none."""
        self.options, self.programs = options or PredicateOptions(), programs

    def takes(self, question: Question) -> str | None:
        """Claims that a condition is kept for all time, of bounded integers."""
        refused = in_steps(question) or (UNSUITED if self._kept(question) is None else None)
        if refused is not None:
            return refused
        unbounded = unbounded_variable(question.system)
        return None if unbounded is None else f"not supported by this engine: {unbounded}"

    def _kept(self, question: Question) -> Expr | None:
        """What is claimed to be kept for all time, where that is all."""
        claim = None if question.claim.mentions_some else safety_claim(question.claim, total=question.is_total)
        return None if claim is None or claim.stop is not FALSE or claim.first else claim.keep

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof, an unsafe path, or what the predicates leave open."""
        keep, refused = self._kept(question), self.takes(question)
        if keep is None or refused is not None:
            return Open(engine=self.name, reason=refused or UNSUITED)
        try:
            return Rounds(question, keep, self.options, budget, self.programs).known()
        except (NotLinear, NoOperators, NotFinite) as error:
            return Open(engine=self.name, reason=f"not supported by this engine: {error.reason}")
        except (NoColumn, NoTerm) as error:
            return Open(engine=self.name, reason=f"not supported by this test: {error}")


def _tests(
    model: OperatorModel,
    policy: PolicyBounds,
    options: PredicateOptions,
    budget: Budget,
    programs: MakeEngine,
) -> PointTests:
    """What answers the tests of all abstractions."""
    if options.test is TransitionTest.OWN:
        return WitnessSearch(model.judge, policy, budget, programs=ProgramTests(model, budget, programs))
    return ConfiguredTests(model, policy, options, budget)


class Rounds:
    """One question, abstraction after abstraction."""

    def __init__(
        self,
        question: Question,
        keep: Expr,
        options: PredicateOptions,
        budget: Budget,
        programs: MakeEngine,
    ) -> None:
        self.question, self.options, self.budget = question, options, budget
        self.model = OperatorModel(
            question.system, keep, with_policy=options.policy, labels=question.labels, tick=budget.check
        )
        policy = PolicyBounds(self.model.variables, self.model.judge, budget.check)
        self.search = _tests(self.model, policy, options, budget, programs)
        self.states = ConcreteStates(self.model, policy)
        self.predicates = [*question.predicates, *(self.model.kept if options.refine and options.follow else ())]
        self.rounds = 0
        self.undivided = float(MAX_CELLS_UNDIVIDED)
        self.most_followed = MAX_STATES if question.predicates or not options.refine else MAX_FOLLOWED_FIRST
        self.outcomes = StartOutcomes(0)
        self.statistics: dict[str, int | float | str] = {}

    def known(self) -> Known:
        """Refine until the question is decided, or nothing more can be told apart."""
        try:
            while True:
                abstraction = Abstraction(self.model, self.predicates, self.search, self.options, self.budget)
                try:
                    decided = None if self._divided(abstraction) else self._decided(abstraction)
                finally:
                    abstraction.dismiss()
                if decided is not None:
                    return self._handed_out(decided, abstraction)
                self.rounds += 1
        except Stopped as stop:
            return Open(engine=Predicates.name, reason=stop.reason, statistics=self.statistics)

    def _divided(self, abstraction: Abstraction) -> bool:
        """Explore; whether predicates were added before that came to its end, as most of it is met by no path.

        Coarse cells have many successors. Once there are more of them than concrete states need, those that no
        concrete state was seen to enter are told apart, without waiting for one of them to be unsafe.
        """
        refines = self.rounds > 0 and self.options.refine and self.options.follow
        abstraction.explore(*((MAX_CELLS_WITH_UNSAFE, self.undivided) if refines else ()))
        if abstraction.complete or abstraction.graph.unsafe:
            return False
        self.undivided *= UNDIVIDED_GROWTH
        search = UnsafeSearch(abstraction, self.states, self.budget)
        added = Refinement(abstraction, search, self.states).between_met_and_unmet()
        self.predicates += added
        if not added:
            abstraction.explore(MAX_CELLS_WITH_UNSAFE)
        return bool(added)

    def _decided(self, abstraction: Abstraction) -> Known | None:
        """What one abstraction decides; None where refined predicates may decide more."""
        search = UnsafeSearch(abstraction, self.states, self.budget)
        outcomes = StartOutcomes(len(abstraction.graph.starts) + len(abstraction.graph.open_starts))
        outcomes.undecided.update(search.suspects)
        self.outcomes = outcomes
        self._note(abstraction, outcomes)
        if not outcomes.undecided:
            return self._proof(abstraction)
        if not self.options.policy:
            return self._open("without the policy an unsafe abstract state is reachable")
        if not self.options.follow:
            return self._open(f"an unsafe abstract state is reachable from {len(search.suspects):,} abstract starts")
        followed = search.follow(self.most_followed)
        self._replay(followed, outcomes)
        self._note(abstraction, outcomes)
        if outcomes.unsafe:
            return self._violated(abstraction, outcomes)
        if not outcomes.undecided:
            return self._proof(abstraction)
        refinement = Refinement(abstraction, search, self.states)
        added = refinement.predicates(followed) if self.options.refine else []
        if added and not self.rounds:
            added += refinement.in_what_is_unsafe()
        self._replay(followed, outcomes)
        self._note(abstraction, outcomes)
        if outcomes.unsafe:
            return self._violated(abstraction, outcomes)
        return self._refined(len(search.suspects), added)

    def _replay(self, followed: Followed, outcomes: StartOutcomes) -> None:
        """Replay unsafe paths, shortest first; an abstract start without one is undecided, or safe.

        All paths were computed exactly; those beyond a number that are not replayed as well are unsafe all the same.
        """
        outcomes.undecided = set(followed.undecided)
        shortest = sorted(followed.paths.items(), key=lambda entry: len(entry[1].steps))
        for cell, found in shortest:
            if len(outcomes.replayed) < MAX_REPLAYS:
                candidate = found.candidate(self.model)
                trace = refuting_path(self.question.system, candidate, self.question.claim.path, self.budget.check)
                if trace is None:
                    outcomes.undecided.add(cell)
                    continue
                outcomes.replayed[cell] = trace
            outcomes.unsafe.add(cell)
        outcomes.undecided -= outcomes.unsafe

    def _refined(self, suspects: int, added: Sequence[Expr]) -> Open | None:
        """Go on with further predicates; why not, where that comes to an end."""
        reached = f"an unsafe abstract state is reachable from {suspects:,} abstract starts"
        if not self.options.refine:
            return self._open(f"{reached}, and no path to one was found")
        if self.rounds == MAX_ROUNDS:
            return self._open(f"{reached}, spurious or not, after {MAX_ROUNDS} refinements")
        if not added and self.most_followed >= MAX_STATES:
            return self._open(f"{reached}, and nothing was found to refine the predicates by")
        self.predicates += added
        self.most_followed = min(4 * self.most_followed, MAX_STATES) if added else MAX_STATES
        return None

    def _handed_out(self, known: Known, abstraction: Abstraction) -> Known:
        """With the abstraction, where it is asked for and was explored to its end."""
        if not self.options.abstraction or not abstraction.complete:
            return known
        return replace(known, abstraction=finite_abstraction(abstraction, self.outcomes))

    # Knowledge --------------------------------------------------------------------------------------------------------

    def _note(self, abstraction: Abstraction, outcomes: StartOutcomes) -> None:
        """What the statistics of a result say."""
        graph = abstraction.graph
        unknown = sum(transition.state is None for transition in graph.transitions.values())
        tests: Counter[str] = abstraction.tests
        self.statistics = {
            "predicates": len(abstraction.predicates),
            "abstract_starts": outcomes.starts,
            "reachable": len(abstraction.cells),
            "transitions": len(graph.transitions),
            "unsafe": len(graph.unsafe),
            "safe_starts": outcomes.safe,
            "unsafe_starts": len(outcomes.unsafe),
            "undecided_starts": len(outcomes.undecided),
            "replayed_paths": len(outcomes.replayed),
            "undecided_transitions": unknown,
            "refinements": self.rounds,
            **{f"tests_{kind}": count for kind, count in tests.items()},
            **{f"tests_{kind}": count for kind, count in self.search.counts.items()},
        }

    def _proof(self, abstraction: Abstraction) -> Proof:
        assert abstraction.complete, "what was not explored may be unsafe"
        return Proof(
            engine=Predicates.name,
            direction=Abstraction.direction,
            assurance=self.search.assurance,
            empty=self.statistics["abstract_starts"] == 0,
            notes=(self._summary(),),
            statistics=self.statistics,
        )

    def _violated(self, abstraction: Abstraction, outcomes: StartOutcomes) -> Known | None:
        """The shortest of the unsafe paths, once all abstract states are known."""
        if not abstraction.complete:
            abstraction.explore()
            return self._decided(abstraction)
        trace = min(outcomes.replayed.values(), key=len)
        known = Counterexample(
            engine=Predicates.name, trace=trace, notes=(self._summary(),), statistics=self.statistics
        )
        if not self.options.shortest:
            return known
        return with_shortest_path(self.question, known, abstraction, self.states, self.budget)

    def _open(self, reason: str) -> Open:
        return Open(engine=Predicates.name, reason=reason, notes=(self._summary(),), statistics=self.statistics)

    def _summary(self) -> str:
        """The size of the abstraction, and how many abstract starts are safe."""
        size = (
            "{predicates:,} predicates, {reachable:,} abstract states, {unsafe:,} unsafe, {transitions:,} transitions"
        )
        starts = "{abstract_starts:,} starts: {safe_starts:,} safe, {unsafe_starts:,} unsafe, "
        unknown = "; {undecided_transitions:,} transitions count as possible, their tests are undecided"
        whole = f"{size}; {starts}{{undecided_starts:,}} undecided{unknown if self._counted_as_possible else ''}"
        return whole.format(**self.statistics)

    @property
    def _counted_as_possible(self) -> bool:
        return bool(self.statistics["undecided_transitions"])
