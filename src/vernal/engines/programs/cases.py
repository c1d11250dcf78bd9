"""The cases of a compositional encoding as sub-problems: named, answered anywhere, and brought back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vernal.engines.outcomes import reading
from vernal.engines.programs.program import Asking, End, ProgramAnswer, Tally
from vernal.errors import FormatError
from vernal.evidence import confirm
from vernal.evidence.codec import encoded, restored
from vernal.model.expr import Occurrence
from vernal.model.lazy import cached_property
from vernal.model.tick import idle
from vernal.run.budget import Budget
from vernal.run.executor import Finished
from vernal.run.journal import Record, digest
from vernal.run.worker import Job, Worked, named
from vernal.sets.refutation import BoundedStarts, Case

COUNTED = ("programs", "columns", "rows", "binaries")


def is_decided(outcome: Record) -> bool:
    """Whether a case is settled for good; behind a doubt may stand a limit."""
    return outcome["end"] in (End.EXCLUDED.name, End.INFEASIBLE.name, End.FOUND.name)


def answer_case(job: Job, budget: Budget) -> Worked:
    """Whether there is a path of one case."""
    solving: Asking = replace(job.question, budget=budget, tally=Tally())
    space, case = job.part
    if space.tick is idle:  # it comes from another process
        space = replace(space, tick=budget.check)
    answer = solving.answer(space, case)
    return Worked(_data(answer, solving), answer)


def _data(answer: ProgramAnswer, solving: Asking) -> dict[str, Any]:
    numbers = {name: getattr(solving.tally, name) for name in (*COUNTED, "seconds")}
    trace = None if answer.trace is None else encoded(answer.trace, solving.system)
    return {"end": answer.end.name, "reason": answer.reason, "trace": trace, "tally": numbers}


@dataclass(frozen=True)
class CaseWork:
    """The cases of one search; what is found in this very process need not be brought back."""

    solving: Asking

    def job(self, space: BoundedStarts, case: Case) -> Job:
        key = f"{_starts_key(space)} {case.key(self._rank)}"
        return Job(key, named(answer_case), self.solving, (space, case))

    def answer(self, done: Finished) -> ProgramAnswer:
        """The answer to a case, with a path that was recomputed if it comes from elsewhere."""
        if done.outcome is None:
            return ProgramAnswer(End.DOUBT, reason=f"a program was lost: {done.lost}; try fewer workers or more memory")
        with reading(done.key):
            self.solving.tally.add(_tally(done.outcome["tally"]))
            self.solving.tally.from_journal += done.recorded
            return done.found if isinstance(done.found, ProgramAnswer) else self._read(done.outcome)

    def _read(self, data: Record) -> ProgramAnswer:
        end = End[data["end"]]
        if end is not End.FOUND:
            return ProgramAnswer(end, reason=str(data["reason"]))
        trace = restored(data["trace"], self.solving.system).path
        if trace is None or confirm.truth(trace, self.solving.goal) is not False:
            raise FormatError("its path is no counterexample")
        return ProgramAnswer(end, trace)

    def _rank(self, occurrence: Occurrence) -> str:
        """A draw by its place among those of the system: serial numbers are those of a process."""
        return f"c{self._ranks[occurrence.serial]}" if occurrence.serial in self._ranks else f"s{occurrence.serial}"

    @cached_property
    def _ranks(self) -> dict[int, int]:
        serials = sorted({node.occurrence.serial for node in self.solving.system.step.names})
        return {serial: rank for rank, serial in enumerate(serials)}


def _tally(numbers: Mapping[str, Any]) -> Tally:
    """What a worker counted; seconds are those of the run that solved the case."""
    programs, columns, rows, binaries = (int(numbers[name]) for name in COUNTED)
    return Tally(programs, columns, rows, binaries, seconds=float(numbers["seconds"]))


def _starts_key(space: BoundedStarts) -> str:
    return digest([[str(var), [repr(start) for start in entry]] for var, entry in space.initial.starts.items()])[:16]
