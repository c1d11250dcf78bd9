"""`vernal check`: check the properties of a task and print the results."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from vernal.cli import exits
from vernal.cli.abstractions import AbstractionFiles, with_abstraction
from vernal.cli.clock import started
from vernal.cli.interrupt import exit_code
from vernal.cli.invocation import command_line
from vernal.cli.next_commands import GivenOptions, as_command, given_options, tube_command
from vernal.cli.options import (
    AllowOutside,
    Asked,
    CountedTime,
    Json,
    Limits,
    Properties,
    Quiet,
    Settings,
    Specs,
    TaskFile,
    counted,
    limited,
    option,
    questions,
)
from vernal.cli.planning import Planning, asked_names, planned
from vernal.cli.progress import Live
from vernal.cli.stream import drop_output, inputs_of, put, refuse_overwriting, show, writable
from vernal.cli.targets import targets
from vernal.errors import InputError
from vernal.model.lazy import cached_property
from vernal.run.output import write_text

if TYPE_CHECKING:
    from vernal.engines.check import Keep
    from vernal.evidence.result import Result
    from vernal.logic.task import Task
    from vernal.report.next_steps import Adviser
    from vernal.run.budget import Budget

NO_EVIDENCE = "no result has a trace, an invariant or a flowpipe"
EXAMPLES = """\b
Examples:
  vernal check vcas.toml
  vernal check vcas.toml --property safe --set v0=-22.5 --timeout 60
  vernal check vcas.toml --spec "AX[3] (h > 100 | h < -100)" --trace bad.trace.json --plot bad.svg
  vernal check vcas.toml --json - > results.json
  vernal check blocks.jani --policy net.jani2nnet --property pa.jani#0 --constant K=8
  vernal check blocks.jani --property pa.jani#0 --engine predicates --graph states.svg --start-verdicts starts.json
  vernal check room.toml --spec "G (T <= 22)" --trace safe.invariant.json          for all time, without a bound
  vernal check jet.toml --engine abstraction --report jet.html                     a flow, in continuous time

\b
Exit code: 2 on bad input, else 10 if any property is violated, else 5 if any is unknown, else 0.
"""


@planned
@limited
@with_abstraction
def check(
    context: typer.Context,
    task: TaskFile,
    property: Properties = None,
    spec: Specs = None,
    time: CountedTime = None,
    set: Settings = None,
    *,
    planning: Planning,
    limits: Limits,
    abstractions: AbstractionFiles,
    json: Json = None,
    trace: Annotated[
        Path | None,
        option(
            "--trace FILE",
            "Write the evidence (trace, invariant, flowpipe) for `vernal replay`; of several, one file each.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        option("--plot FILE", "Draw the evidence (.pdf, .svg or .png); of several, one file each."),
    ] = None,
    certificate: Annotated[
        Path | None,
        option("--certificate FILE", "Write a certificate of what holds, for `vernal-check`; of several, a folder."),
    ] = None,
    deployed: Annotated[
        str | None,
        option(
            "--deployed FORMAT",
            "Cover networks as they are computed in floats: float32, bfloat16 or float16; see docs/trust.md.",
        ),
    ] = None,
    report: Annotated[Path | None, option("--report FILE.html", "Write a report: verdicts, traces and plots.")] = None,
    allow_outside: AllowOutside = False,
    quiet: Quiet = False,
) -> None:
    """Check properties of a task: holds, violated with a trace, or unknown with the reason.

    Without --property and --spec every property of the task is checked, in order.
    """
    from vernal.engines.check import refuse_deployed
    from vernal.engines.journals import refuse_journal

    refuse_deployed(deployed, limits.journal)
    if limits.journal is not None:
        refuse_journal(limits.engine, limits.options)
    if limits.place.is_remote and any((limits.journal, certificate, *abstractions.files)):
        raise InputError(f"--on {limits.on} brings verdicts and traces; what else is asked for is made here only")
    abstractions.check(limits.engine)
    asked_files = (json, trace, plot, certificate, report, limits.journal, *abstractions.files)
    folder = None if certificate is None or not certificate.is_dir() else certificate
    writable(*(file for file in asked_files if file is None or file is not folder))
    reading, constants = limits.reading(started()), planning.constants(set)

    def opened() -> Task:
        return planning.open(task, property, reading.check, allow_outside=allow_outside).task(constants)

    loaded = counted(limits.abstracted(limits.read(opened, reading)), spec, time)
    refuse_overwriting(inputs_of(loaded), asked_files)
    outputs = Outputs(json, trace, report, quiet, abstractions, certificate, plot)
    asked = questions(loaded, asked_names(loaded, property), spec)
    raise typer.Exit(Invocation(loaded, asked, limits, outputs, given_options(context), deployed).go())


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the answers go besides the terminal."""

    json: str | None
    trace: Path | None
    report: Path | None
    quiet: bool
    abstractions: AbstractionFiles
    certificate: Path | None = None
    plot: Path | None = None

    @property
    def stream(self) -> TextIO:
        """Where the text goes: to stderr if the document goes to stdout."""
        return sys.stderr if self.json == "-" else sys.stdout

    @contextmanager
    def unread(self) -> Iterator[None]:
        """A reader of stdout that has ended is no reason not to write files; where there are none, it is the end."""
        try:
            yield
        except BrokenPipeError:
            named = (self.trace, self.plot, self.certificate, self.report, None if self.json == "-" else self.json)
            files = (*named, *self.abstractions.files)
            if all(file is None for file in files):
                raise
            drop_output()


@dataclass
class Invocation:
    """All questions of one invocation; results survive an interruption."""

    task: Task
    asked: Sequence[Asked]
    limits: Limits
    outputs: Outputs
    given: GivenOptions  # in the command line
    deployed: str | None = None  # the float format of the networks, where they are to be taken as computed
    results: list[Result] = field(default_factory=list)

    @property
    def options(self) -> dict[str, object]:
        """Of the engine: those given, and what the files need."""
        return {**self.limits.options, **self.outputs.abstractions.options}

    @cached_property
    def adviser(self) -> Adviser:
        """Says what to try after unknown answers."""
        from vernal.report.next_steps import Adviser

        return Adviser(partial(as_command, self.given))

    def go(self) -> int:
        """Answer one after the other, then write what was asked for."""
        from vernal.engines.check import asked_together, keeping
        from vernal.engines.time_shares import FairShares
        from vernal.run.budget import silent

        stopped: KeyboardInterrupt | None = None
        formulas = [question.formula for question in self.asked]
        together = asked_together(self.task, [(question.name, question.formula) for question in self.asked])
        several = FairShares([], replace(self.limits.budget(started(), silent), together=together))
        try:
            with keeping(self.limits.journal, self.task, formulas, self.limits.engine, self.options) as kept:
                several.asks = [partial(self.answer, question, kept) for question in self.asked]
                for result in self.elsewhere() if self.limits.place.is_remote else several:
                    self.tell(result)
        except KeyboardInterrupt as interrupt:
            stopped = interrupt
            self.give_up(several.found)
        stopped = self.write(stopped)
        verdicts = (result.verdict for result in self.results)
        return exits.of_verdicts(verdicts) if stopped is None else exit_code(stopped)

    def elsewhere(self) -> list[Result]:
        """All of them by others, each as a whole."""
        from vernal.engines.check import question_of
        from vernal.queries.elsewhere import ask_elsewhere
        from vernal.run.budget import silent

        asked = [question_of(self.task, one.formula, one.name) for one in self.asked]
        budget = self.limits.budget(started(), silent)
        with Live("checking", quiet=self.outputs.quiet):
            return ask_elsewhere(self.task, asked, self.limits.engine, self.options, budget, self.limits.place)

    def answer(self, question: Asked, kept: Keep, budget: Budget) -> Result:
        from vernal.engines.check import ask

        title = question.name or "checking"
        with Live(title, quiet=self.outputs.quiet) as live:
            keeps_sets = self.outputs.certificate is not None
            own = kept(replace(budget, progress=live, keeps_sets=keeps_sets), question.formula)
            return ask(self.task, question.formula, question.name, self.limits.engine, own, self.options, self.deployed)

    def tell(self, result: Result) -> None:
        """Keep a result, then print it."""
        from vernal.report.text import result_text

        result = self.adviser.advised(result)
        self.results.append(result)
        stream = self.outputs.stream
        look = {"colour": colourful(stream), "wrap": stream.isatty(), "trace": not self.outputs.quiet}
        with self.outputs.unread():
            print(result_text(result, width=page_width(stream), **look), file=stream, flush=True)

    def give_up(self, found: Sequence[Result]) -> None:
        """What was found so far stands; what was not answered is unknown, and why."""
        for result in found[len(self.results) :]:
            self.tell(result)
        reasons = ["interrupted", "interrupted before it was its turn"]
        for place, question in enumerate(self.asked[len(self.results) :]):
            self.tell(interrupted(self.task, question, self.limits.engine, reasons[min(place, 1)]))

    def write(self, stopped: KeyboardInterrupt | None) -> KeyboardInterrupt | None:
        """JSON, traces and report, each mentioned once it is there; the interrupt there was, if only while drawing."""
        from vernal.report.document import document, dump

        if self.outputs.json is not None:
            with self.outputs.unread():
                put(self.outputs.json, dump(document(self.task, self.results)))
        if self.outputs.trace is not None:
            write_traces(self.task, self.results, self.outputs.trace, self.mention)
        if self.outputs.certificate is not None:
            write_certificates(self.results, self.outputs.certificate, self.mention)
        if self.outputs.plot is not None:
            stopped = self.draw(self.outputs.plot, stopped)
        if self.outputs.report is not None:
            stopped = self.write_report(self.outputs.report, stopped)
        self.outputs.abstractions.write(self.task, self.results, self.mention)
        return stopped

    def write_report(self, file: Path, stopped: KeyboardInterrupt | None) -> KeyboardInterrupt | None:
        """The report, with the pictures that there is time for; none after an interrupt."""
        from vernal.report.drawing import Drawing
        from vernal.report.page import Answered, report_page
        from vernal.run.budget import silent

        drawing = Drawing.after(self.limits.budget(started(), silent), stopped)
        asked = zip(self.results, self.asked, strict=True)
        answers = [Answered(result, question.formula) for result, question in asked]
        write_text(file, report_page(self.task, answers, command_line(), drawing))
        self.mention(f"report written to {file}{drawing.remark}")
        return drawing.interrupt

    def draw(self, file: Path, stopped: KeyboardInterrupt | None) -> KeyboardInterrupt | None:
        """A picture of each evidence there is, as long as there is time."""
        from vernal.report.drawing import Drawing
        from vernal.run.budget import silent

        drawing = Drawing.after(self.limits.budget(started(), silent), stopped)
        shown = [result for result in self.results if result.evidence is not None]
        if not shown:
            tube = tube_command(self.given, file)
            self.mention(f"nothing is drawn to {file}: {NO_EVIDENCE}; what can happen is drawn by {tube}")
        for target, result in zip(targets(file, shown), shown, strict=True):
            self.mention(drawing.saved(target, partial(_draw, result, target)))
        return drawing.interrupt

    def mention(self, message: str) -> None:
        with self.outputs.unread():
            show(message, self.outputs.stream)


def colourful(stream: TextIO) -> bool:
    """Whether to use colour: on a terminal, unless NO_COLOR is set (https://no-color.org)."""
    import os

    return stream.isatty() and not os.environ.get("NO_COLOR")


def page_width(stream: TextIO) -> int:
    """As wide as the terminal; 120 columns elsewhere."""
    return shutil.get_terminal_size((120, 40)).columns if stream.isatty() else 120


def interrupted(task: Task, question: Asked, engine: str, reason: str) -> Result:
    """The answer to a question there was no time for."""
    from vernal.engines.answers import answer
    from vernal.engines.check import question_of
    from vernal.evidence.knowledge import Open
    from vernal.run.budget import Budget

    asked = question_of(task, question.formula, question.name)
    return answer(asked, Open(engine=engine, reason=reason), Budget())


def _draw(result: Result, file: Path, budget: Budget) -> None:
    from vernal.report.evidence_pictures import Canvas, plot_evidence

    if result.evidence is not None:
        plot_evidence(result.evidence, result, Canvas(file))


def write_traces(task: Task, results: Sequence[Result], file: Path, mention: Callable[[str], None]) -> None:
    """The evidence for a verdict; of several, a file each, named after the property."""
    from vernal.evidence.codec import CODECS
    from vernal.evidence.evidence_file import dump

    found = [result for result in results if result.evidence is not None]
    if not found:
        mention(f"nothing is written to {file}: {NO_EVIDENCE}")
    for target, result in zip(targets(file, found), found, strict=True):
        write_text(target, dump(task, result))
        what = "nothing" if result.evidence is None else CODECS[result.evidence.kind].noun
        mention(f"{what} written to {target}    replay: vernal replay {target}")


def write_certificates(results: Sequence[Result], file: Path, mention: Callable[[str], None]) -> None:
    """The certificate of what holds; of several results one each, in a folder of that name."""
    from vernal.cli.targets import file_names

    names = file_names([result.property or str(number) for number, result in enumerate(results, start=1)])
    if len(results) > 1:
        file.mkdir(parents=True, exist_ok=True)
    for name, result in zip(names, results, strict=True):
        target = file if len(results) == 1 else file / f"{name}.certificate"
        if result.certificate is not None:
            result.certificate.save(target)
            mention(f"certificate written to {target}    check: vernal-check {target}")
        elif result.verdict != "holds":
            mention(f"no certificate of {result.property or result.formula}: it is {result.verdict.value}")
