"""A solver for tests, which returns given outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vernal.model.tick import idle
from vernal.solvers.base import Capabilities, MilpProblem, Solved, SolveStatus

FakeAnswer = Solved | Callable[[MilpProblem], Solved]


class Fake:
    """Returns its outcomes one after the other, then UNKNOWN; `asked` has the programs it was given."""

    name = "fake"
    requires: tuple[str, ...] = ()
    can = Capabilities(integers=True, incremental=False)

    def __init__(self, answers: Iterable[FakeAnswer] = ()) -> None:
        self.answers = list(answers)
        self.asked: list[MilpProblem] = []
        self.time_limits: list[float] = []

    def solve(
        self,
        problem: MilpProblem,
        time_limit: float = float("inf"),
        target: float | None = None,
        tick: Callable[[], object] = idle,
    ) -> Solved:
        self.asked.append(problem)
        self.time_limits.append(time_limit)
        answer = self.answers.pop(0) if self.answers else Solved(SolveStatus.UNKNOWN, said="nothing left to say")
        return answer if isinstance(answer, Solved) else answer(problem)
