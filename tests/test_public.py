"""The public surface: pinned names, and an import that costs next to nothing."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import vernal as vn

PUBLIC = [
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

HEAVY = ("numpy", "scipy", "onnx", "h5py", "flint", "matplotlib", "lark", "torch")


def test_the_public_names_are_these() -> None:
    assert vn.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(vn, name) is not None
    assert name in dir(vn)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = vn.nonsense


def test_a_verdict_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(vn.HOLDS)


@pytest.mark.parametrize("module", ["vernal", "vernal.cli.main"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


EXAMPLE = re.compile(r"`(vn\.(?!agent)[^`]*\bs\.[^`]*)`")  # of what is written in a step, over its state


def examples() -> list[str]:
    return [found[1] for name in vn.__all__ if (found := EXAMPLE.search(inspect.getdoc(getattr(vn, name)) or ""))]


@pytest.mark.parametrize("text", examples())
def test_examples_of_expressions_are_expressions(text: str) -> None:
    numbers = ("x", "y", "theta", "slope", "t")
    vn.System(
        state={**{name: vn.real() for name in numbers}, "mode": vn.enum("ON", "OFF"), "p": vn.array(vn.real(), 2)},
        init={**dict.fromkeys(numbers, 0), "mode": "ON", "p": [0, 0]},
        step=lambda s: (eval(text, {"vn": vn, "s": s}), {})[1],
    )
