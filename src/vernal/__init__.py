"""VERification of Neural Agents in the Loop.

    import vernal as vn

    task = vn.load("vcas.toml", v0=-22.5)
    result = vn.check(task, "AX[3] (h > 100 | h < -100)", timeout=60)
    match result.verdict:
        case vn.HOLDS:    print(result.scope)
        case vn.VIOLATED: result.trace.plot()
        case vn.UNKNOWN:  print(result.reason)

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vernal.evidence.invariant import Invariant
from vernal.evidence.trace import Trace
from vernal.formats.task.shelf import Shelf
from vernal.model.hooks import HOOKS

if TYPE_CHECKING:
    from vernal import worlds
    from vernal.engines.check import check
    from vernal.engines.falsify.simulation import simulate
    from vernal.engines.reach.ask import reach
    from vernal.errors import InputError, MissingExtra, VernalError
    from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result, Verdict
    from vernal.formats.automata import read_automaton, write_automaton
    from vernal.formats.convert import write_network
    from vernal.formats.evidence import replay, write_evidence
    from vernal.formats.jani.planning_task import load_jani
    from vernal.formats.loading import load
    from vernal.formats.networks import read_network
    from vernal.formats.recurrent import rnn
    from vernal.formats.sb3.live_policy import from_sb3
    from vernal.formats.torch.module import from_torch
    from vernal.logic.task import Task
    from vernal.model.arrays import ExprArray
    from vernal.model.build import (
        absolute,
        atan2,
        between,
        choose,
        clip,
        eq,
        floor,
        if_,
        maximum,
        minimum,
        relu,
        sign,
        when,
    )
    from vernal.model.declare import agent, array, boolean, enum, equals, integer, interval, match, one_of, real
    from vernal.model.flow import Flow
    from vernal.model.functions import atan, cos, erf, exp, expm1, log, log1p, sigmoid, sin, sqrt, tan, tanh
    from vernal.model.network import Network
    from vernal.model.system import System
    from vernal.plugins.sb3_callback import verdict_callback
    from vernal.queries.public_faults import faults
    from vernal.queries.public_map import map
    from vernal.queries.public_sweep import sweep
    from vernal.report.abstraction_file import write_abstraction
    from vernal.report.explanation import explain

__version__ = "0.1.0"

_HOMES = {
    "vernal.engines.check": ["check"],
    "vernal.engines.falsify.simulation": ["simulate"],
    "vernal.engines.reach.ask": ["reach"],
    "vernal.errors": ["InputError", "MissingExtra", "VernalError"],
    "vernal.evidence.result": ["HOLDS", "UNKNOWN", "VIOLATED", "Assurance", "Result", "Verdict"],
    "vernal.formats.automata": ["read_automaton", "write_automaton"],
    "vernal.formats.convert": ["write_network"],
    "vernal.formats.evidence": ["replay", "write_evidence"],
    "vernal.formats.networks": ["read_network"],
    "vernal.formats.recurrent": ["rnn"],
    "vernal.formats.jani.planning_task": ["load_jani"],
    "vernal.formats.loading": ["load"],
    "vernal.formats.sb3.live_policy": ["from_sb3"],
    "vernal.formats.torch.module": ["from_torch"],
    "vernal.logic.task": ["Task"],
    "vernal.model.arrays": ["ExprArray"],
    "vernal.model.build": [
        "absolute",
        "atan2",
        "between",
        "choose",
        "clip",
        "eq",
        "floor",
        "if_",
        "maximum",
        "minimum",
        "relu",
        "sign",
        "when",
    ],
    "vernal.model.declare": [
        "System",
        "agent",
        "array",
        "boolean",
        "enum",
        "equals",
        "integer",
        "interval",
        "match",
        "one_of",
        "real",
    ],
    "vernal.model.declare_flow": ["Flow"],
    "vernal.model.functions": [
        "atan",
        "cos",
        "erf",
        "exp",
        "expm1",
        "log",
        "log1p",
        "sigmoid",
        "sin",
        "sqrt",
        "tan",
        "tanh",
    ],
    "vernal.model.network": ["Network"],
    "vernal.plugins.sb3_callback": ["verdict_callback"],
    "vernal.queries.public_faults": ["faults"],
    "vernal.queries.public_map": ["map"],
    "vernal.queries.public_sweep": ["sweep"],
    "vernal.report.abstraction_file": ["write_abstraction"],
    "vernal.report.explanation": ["explain"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "HOLDS",
    "UNKNOWN",
    "VIOLATED",
    "Assurance",
    "ExprArray",
    "Flow",
    "InputError",
    "MissingExtra",
    "Network",
    "Result",
    "System",
    "Task",
    "Trace",
    "Verdict",
    "VernalError",
    "absolute",
    "agent",
    "array",
    "atan",
    "atan2",
    "between",
    "boolean",
    "check",
    "choose",
    "clip",
    "cos",
    "enum",
    "eq",
    "equals",
    "erf",
    "exp",
    "explain",
    "expm1",
    "faults",
    "floor",
    "from_sb3",
    "from_torch",
    "if_",
    "integer",
    "interval",
    "load",
    "load_jani",
    "log",
    "log1p",
    "map",
    "match",
    "maximum",
    "minimum",
    "one_of",
    "reach",
    "read_automaton",
    "read_network",
    "real",
    "relu",
    "replay",
    "rnn",
    "sigmoid",
    "sign",
    "simulate",
    "sin",
    "sqrt",
    "sweep",
    "tan",
    "tanh",
    "verdict_callback",
    "when",
    "worlds",
    "write_abstraction",
    "write_automaton",
    "write_evidence",
    "write_network",
]


# A room is called like one of the functions. Loaded here, its name is not bound again when one of its modules is.
import_module("vernal.simulate")
globals().pop("simulate")


def __getattr__(name: str) -> Any:
    if name == "worlds":
        return import_module("vernal.worlds")
    if name not in _HOME:
        raise AttributeError(f"module 'vernal' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is loaded when it is called."""
    return lambda *given, **named: getattr(import_module(module), name)(*given, **named)


def _world(name: str) -> str:
    from vernal.worlds.library import text

    return text(name)


Shelf.find = _world  # formats know no worlds; the package puts them on the shelf
Invariant.plotter = _later("vernal.report.invariants", "plot_invariant")
Trace.plotter = _later("vernal.report.plots", "plot_trace")  # evidence knows no drawing; the package plugs it in
HOOKS.update(
    {
        name: _later(module, name)
        for module, names in {
            "vernal.formats.certificate": ["certificate_of"],
            "vernal.formats.task_graph": ["task_graph"],
            "vernal.formats.loading": ["load"],
            "vernal.interpret.concrete": ["evaluate_network"],
            "vernal.logic.printing": ["text"],
            "vernal.report.fault_table": ["faults_text", "show_faults"],
            "vernal.report.flow_pictures": ["plot_abstraction_error", "plot_flowpipe"],
            "vernal.report.page": ["save_result", "save_trace", "show_result", "show_trace", "write_report"],
            "vernal.report.reach_table": ["frame_sets", "show_sets", "write_sets"],
            "vernal.report.recurrent_sets": ["plot_recurrence"],
            "vernal.report.tubes": ["plot_sets"],
            "vernal.sets.sampled.returns": ["recurrence_problem"],
            "vernal.sets.sampled.sample_graphs": ["samples_problem"],
            "vernal.worlds.examples": ["command_writing"],
            "vernal.report.run_table": ["frame_runs", "write_runs"],
            "vernal.report.simulations": ["plot_simulation", "show_simulation"],
            "vernal.report.sweep_pictures": ["plot_sweep"],
            "vernal.report.sweeps": ["frame_sweep", "save_sweep", "show_sweep"],
            "vernal.report.map_pictures": ["plot_map"],
            "vernal.report.map_page": ["certify_map", "save_map", "write_map_page"],
        }.items()
        for name in names
    }
)
