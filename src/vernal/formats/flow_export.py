"""Hybrid automata from files to files: of a flow in a task file, or from one format to the other.

    export("jet.toml", "jet.xml")       learns and certifies an abstraction; jet.cfg, beside it, is the question
    export("jet.xml", "jet.json")
    export_network("jet.toml", "n.onnx")     the network of that abstraction alone

What was written is read back and compared, number by number; if it is not the same, nothing is left behind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from vernal.errors import FormatError, InputError, NameUnknown, nearest
from vernal.evidence.neural import NeuralAbstraction
from vernal.formats.automata import automaton_json, read_automaton, write_automaton
from vernal.formats.loading import is_automaton as is_automaton
from vernal.formats.loading import load
from vernal.logic.question import Question
from vernal.logic.task import Task, Transitions
from vernal.model.clock import clock_of
from vernal.model.hybrid import HybridAutomaton
from vernal.model.tick import Tick, idle
from vernal.run.output import write_bytes, write_text

CONFIG = ".cfg"


@dataclass(frozen=True, slots=True)
class AutomatonExport:
    """What was written: an automaton with so many locations and crossings."""

    source: str
    target: str
    locations: int
    crossings: int
    notes: tuple[str, ...] = ()
    missed: str | None = None  # that the certified error is larger than the task asks

    def __str__(self) -> str:
        size = f"{self.locations} locations, {self.crossings} crossings"
        return f"{self.source} -> {self.target}: {size}; read back, the same automaton"


@dataclass(frozen=True, slots=True)
class NetworkExport:
    """What was written: the network of an abstraction with so many inputs, one for each variable, and as many rates."""

    source: str
    target: str
    variables: int
    hidden: str  # the widths of its layers
    notes: tuple[str, ...] = ()
    missed: str | None = None

    def __str__(self) -> str:
        size = f"{self.variables} variables, layers of {self.hidden} neurons"
        return f"{self.source} -> {self.target}: {size}; read back, the same network, weight by weight"


def export(
    source: str | Path, target: str | Path, *, property_name: str | None = None, tick: Tick = idle
) -> AutomatonExport:
    """Write the automaton of a file to another one (.xml or .json).

    Of a task file it is that of a neural abstraction of its flow; `property_name` chooses the question that the
    configuration beside an .xml asks, the first property otherwise.
    """
    if is_automaton(source):
        if property_name is not None:
            raise InputError(f"{source}: a hybrid automaton has no properties; leave out {property_name!r}")
        return _written(str(source), read_automaton(source), Path(target), None)
    task = load(source)
    return export_task(task, target, property_name=property_name, source=str(source), tick=tick)


def export_task(
    task: Task, target: str | Path, *, property_name: str | None = None, source: str | None = None, tick: Tick = idle
) -> AutomatonExport:
    """Write the automaton of a task's flow, and beside an .xml the question about it."""
    from vernal.reduce.neural.abstraction import abstract
    from vernal.reduce.neural.partition import automaton_of

    question = _question(task, property_name)
    flow = task.flow
    abstraction = abstract(flow, task.settings, tick)
    missed = missed_error(task, abstraction)
    variables = [variable.name for variable in flow.state]
    transitions = task.settings.transitions or Transitions.FACET
    automaton = automaton_of(abstraction, name=flow.name, variables=variables, transitions=transitions, tick=tick)
    return replace(_written(source or flow.name, automaton, Path(target), question), missed=missed)


def export_network(source: str | Path, target: str | Path, *, tick: Tick = idle) -> NetworkExport:
    """Write the network of a neural abstraction of a task's flow: rates over state variables, in their order."""
    from vernal.formats.convert import write_network
    from vernal.formats.networks import read_network
    from vernal.reduce.neural.abstraction import abstract

    task = load(source)
    _question(task, None)
    abstraction = abstract(task.flow, task.settings, tick)
    with TemporaryDirectory() as folder:
        draft = Path(folder) / f"draft{Path(target).suffix}"
        write_network(abstraction.network, draft)
        if read_network(draft).roots != abstraction.network.roots:
            raise FormatError(f"{target}: what was written is not the same network; this is a bug in Vernal")
        write_bytes(Path(target), draft.read_bytes())
    names, errors = [variable.name for variable in task.flow.state], [float(error) for error in abstraction.error]
    told = ", ".join(f"{error:.3g} of {name}" for name, error in zip(names, errors, strict=True))
    note = f"in the whole region each rate differs from the network's output by at most (certified): {told}"
    missed = missed_error(task, abstraction)
    return NetworkExport(str(source), str(target), len(names), str(abstraction.statistics["widths"]), (note,), missed)


def missed_error(task: Task, abstraction: NeuralAbstraction) -> str | None:
    """That the certified error is larger than the one that the task asks for, if it is."""
    asked = task.settings.error or ()
    names = [variable.name for variable in task.flow.state]
    rows = zip(names, abstraction.error, asked, strict=False)
    larger = [f"{float(found):.3g} of {n}, not {float(want):g}" for n, found, want in rows if Fraction(found) > want]
    return f"[abstraction] error was not reached: {', '.join(larger)}; allow more neurons (widths)" if larger else None


def _question(task: Task, name: str | None) -> Question | None:
    """The question that the task asks under this name, or its first."""
    if task.model.motion.rates is None or task.model.grid is not None:
        raise FormatError(f"{task.name}: hybrid automata are made of flows ([flow]), not of {task.model.motion.noun}")
    if clock_of(task.model) is not None:
        raise FormatError(f"{task.name}: rates that name the clock have no region; declare t with a range and rate 1")
    if name is None:
        name = next(iter(task.properties), None)
        if name is None:
            return None
    if name not in task.properties:
        raise NameUnknown(f"there is no property {name!r}{nearest(name, task.properties)}")
    return Question(task.model, task.properties[name], name, settings=task.settings)


def _written(source: str, automaton: HybridAutomaton, target: Path, question: Question | None) -> AutomatonExport:
    """Write a draft, read it back, and keep it if it is the same."""
    horizon = None if question is None else question.claim.last_time
    with TemporaryDirectory() as folder:
        draft = Path(folder) / f"draft{target.suffix}"
        write_automaton(automaton, draft, horizon=horizon)
        same = _is_same(automaton, read_automaton(draft))
        if not same:
            raise FormatError(f"{target}: what was written is not the same automaton; this is a bug in Vernal")
        write_bytes(target, draft.read_bytes())
    notes = () if question is None or target.suffix.lower() != ".xml" else _configure(automaton, target, question)
    return AutomatonExport(source, str(target), len(automaton.locations), len(automaton.crossings), notes)


def _is_same(first: HybridAutomaton, second: HybridAutomaton) -> bool:
    """Whether two automata are the same but for the names, which SpaceEx may need otherwise."""
    return automaton_json(first) == automaton_json(replace(second, name=first.name, variables=first.variables))


def _configure(automaton: HybridAutomaton, target: Path, question: Question) -> tuple[str, ...]:
    """Write the configuration beside a model."""
    from vernal.formats.spaceex.config import spaceex_config
    from vernal.formats.spaceex.writer import names_of

    config = spaceex_config(question, names_of(automaton))
    beside = target.with_suffix(CONFIG)
    write_text(beside, config.text)
    return f"the question is in {beside}", *config.notes
