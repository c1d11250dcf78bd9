"""Options that write the finite abstraction of the engine predicates: as a model, as a graph, and start by start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vernal.cli.options import expanded, option
from vernal.cli.targets import beside, targets
from vernal.errors import InputError
from vernal.run.output import write_text

if TYPE_CHECKING:
    from vernal.evidence.finite_abstraction import FiniteAbstraction
    from vernal.evidence.result import Result
    from vernal.logic.task import Task

ABSTRACTION = "The abstraction (engine predicates)"


@dataclass(frozen=True, slots=True)
class AbstractionFiles:
    """Where an abstraction is written to."""

    abstraction: Annotated[
        Path | None,
        option(
            "--abstraction FILE.jani",
            "Of the engine predicates: write abstract states and transitions as a JANI model.",
            rich_help_panel=ABSTRACTION,
        ),
    ] = None
    graph: Annotated[
        Path | None,
        option(
            "--graph FILE",
            "Of the engine predicates: draw the abstract states, if they are few, as .svg, or .dot for other tools.",
            rich_help_panel=ABSTRACTION,
        ),
    ] = None
    start_verdicts: Annotated[
        Path | None,
        option(
            "--start-verdicts FILE.json",
            "Of the engine predicates: write which abstract starts are safe, unsafe or undecided, and their paths.",
            rich_help_panel=ABSTRACTION,
        ),
    ] = None

    @property
    def files(self) -> tuple[Path | None, ...]:
        return self.abstraction, self.graph, self.start_verdicts

    @property
    def options(self) -> dict[str, object]:
        """What the engine has to be told."""
        return {"abstraction": True} if any(file is not None for file in self.files) else {}

    def check(self, engine: str) -> None:
        """Refuse what cannot be written before anything is read."""
        named = {"--abstraction": self.abstraction, "--graph": self.graph, "--start-verdicts": self.start_verdicts}
        given = [option for option, file in named.items() if file is not None]
        if given and engine != "predicates":
            raise InputError(f"{given[0]} goes with --engine predicates")
        if self.abstraction is not None and self.abstraction.suffix.lower() != ".jani":
            raise InputError(f"cannot write {self.abstraction}: name a file ending in .jani")
        if self.graph is not None:
            from vernal.report.abstraction_file import refuse_suffix

            refuse_suffix(self.graph)

    def write(self, task: Task, results: Sequence[Result], mention: Callable[[str], None]) -> None:
        """Each file of each result, mentioned once it is there, or why it is not."""
        for file, write in ((self.abstraction, _model), (self.graph, _graph), (self.start_verdicts, _starts)):
            if file is None:
                continue
            for target, result in zip(targets(file, results), results, strict=True):
                mention(_written(task, result, target, write))


def with_abstraction(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a parameter `abstractions`, as the command line has it: every field an option of its own."""
    return expanded(command, "abstractions", AbstractionFiles)


# Writing --------------------------------------------------------------------------------------------------------------

Writer = Callable[["Task", "Result", "FiniteAbstraction", Path], str]


def _written(task: Task, result: Result, file: Path, write: Writer) -> str:
    """Write a file, and say so; or say why there is nothing to write, which does not change the verdict."""
    from vernal.evidence.finite_abstraction import FiniteAbstraction

    if not isinstance(result.abstraction, FiniteAbstraction):
        return f"nothing is written to {file}: there is no finished abstraction"
    if not len(result.abstraction):
        return f"nothing is written to {file}: there is no initial state, and so no abstract one"
    return write(task, result, result.abstraction, file)


def _model(task: Task, result: Result, abstraction: FiniteAbstraction, file: Path) -> str:
    from vernal.report.abstraction_file import write_abstraction

    write_abstraction(result, file, f"{task.name}-abstraction")
    return f'abstraction written to {file}    check: vernal check {file} --property "#0"'


def _graph(task: Task, result: Result, abstraction: FiniteAbstraction, file: Path) -> str:
    from vernal.report.abstract_graph import too_large
    from vernal.report.abstraction_file import write_abstraction

    reason = too_large(abstraction)
    if reason is not None:
        return f"nothing is drawn to {file}: {reason}"
    write_abstraction(result, file, task.name)
    return f"graph written to {file}"


def _starts(task: Task, result: Result, abstraction: FiniteAbstraction, file: Path) -> str:
    """The verdicts, and the unsafe paths beside them, each in a file of its own that can be replayed."""
    from vernal.evidence.evidence_file import dump as dump_trace
    from vernal.evidence.result import VIOLATED
    from vernal.report.abstract_starts import starts_document
    from vernal.report.document import dump

    paths = {state: beside(file, f"start{state}") for state in abstraction.paths}
    for state, target in paths.items():
        shown = replace(result, verdict=VIOLATED, evidence=abstraction.paths[state])
        write_text(target, dump_trace(task, shown))
    write_text(file, dump(starts_document(result, abstraction, {state: path.name for state, path in paths.items()})))
    beside_it = f", {len(paths)} unsafe paths beside it" if paths else ""
    return f"start verdicts written to {file}{beside_it}"
