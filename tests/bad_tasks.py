"""Tasks with one thing wrong each, and what is to be said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bad_networks import (
    HDF5,
    NOISE,
    Prepare,
    claiming_onnx,
    nnet,
    onnx_bytes,
    onnx_network,
    recurrent_onnx,
    unclear_onnx,
    writes,
)

TASK = """\
vernal = 1
name = "cart"

[parameters]
k = 3

[constants]
pace = 0.5

[state]
x = "real [-10, 10]"
n = "int [0, 9]"
on = "bool"
light = "enum {RED, GREEN}"

[init]
x = "[0, 1]"
n = 0
on = false
light = "RED"

[environment.let]
push = "choose(-1, 1)"
speed = "2 * x"

[environment.next]
x = "x + pace * push"
n = "min(n + 1, 9)"

[properties]
safe = "G[0,k] (x <= 8)"
"""

AGENT = """
[agents.pilot]
policy = "pilot.onnx"
observe = ["x", "n"]
labels = "light"
"""


@dataclass(frozen=True)
class Case:
    """A task with one thing wrong: replacements in TASK (or other content), files beside it, options, what is said."""

    name: str
    words: tuple[str, ...]
    changes: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    prepare: Prepare | None = None
    options: tuple[str, ...] = ()
    place: str | None = None  # line:column the message begins with

    def __str__(self) -> str:
        return self.name


def case(name: str, old: str, new: str, *words: str, place: str | None = None) -> Case:
    """TASK with one replacement."""
    return Case(name, words, {old: new}, place=place)


def wrong_property(name: str, formula: str, *words: str) -> Case:
    return case(name, "G[0,k] (x <= 8)", formula, *words)


def wrong_agent(
    name: str, *words: str, changes: Mapping[str, str] | None = None, prepare: Prepare | None = None
) -> Case:
    """TASK with an agent, changed; its network is two inputs to two outputs unless prepared otherwise."""
    agent = AGENT
    for old, new in (changes or {}).items():
        assert old in agent, old
        agent = agent.replace(old, new)
    return Case(name, words, {"[environment.let]": agent + "\n[environment.let]"}, prepare=prepare)


def remembering(name: str, line: str, *words: str, formula: str = "G[0,k] (x <= 8)") -> Case:
    """TASK with a recurrent agent of two units, and one more line in its table."""
    changes = {"[environment.let]": f"{AGENT}{line}\n\n[environment.let]", "G[0,k] (x <= 8)": formula}
    return Case(name, words, changes, prepare=recurrent_onnx())


def write_task(case: Case, folder: Path) -> Path:
    """The task of a case, and the files it needs."""
    text = TASK
    for old, new in case.changes.items():
        assert text.count(old) >= 1, f"{old!r} is not in the task"
        text = text.replace(old, new, 1)
    (case.prepare or onnx_network())(folder)
    path = folder / "task.toml"
    path.write_bytes(text.encode() if case.content is None else case.content)
    return path


CASES = [
    # The file itself
    Case("not TOML", ("not a TOML file", "task.toml:1:"), content=b"vernal = = 1"),
    Case("binary garbage", ("not a TOML file", "UTF-8"), content=NOISE),
    Case("empty file", ("vernal = 1",), content=b""),
    Case("over 1 MiB", ("1 MiB",), content=b"#" * (2**20 + 1)),
    Case("20,000 nested arrays", ("nested",), content=b"vernal = 1\nx = " + b"[" * 20_000 + b"]" * 20_000),
    Case("20,000 digits", ("thousands of digits",), content=b"vernal = " + b"1" * 20_000),
    case("format version 2", "vernal = 1", "vernal = 2", "version 2", "reads version 1", place="1:10"),
    case("version as text", "vernal = 1", 'vernal = "1"', "version '1'"),
    case("no version", "vernal = 1\n", "", "not a task file", "vernal = 1"),
    case("settings without a flow", "[environment.let]", "[abstraction]\nseed = 1\n[environment.let]", "has no [flow]"),
    # Keys
    case("unknown table", "[properties]", "[propertys]", "unknown key 'propertys'", "did you mean 'properties'?"),
    case("unknown key", "[environment.let]", "[environment]\nenable = true\n[environment.let]", "'enable'", "enabled"),
    case("a number as a table", "[parameters]\nk = 3", "parameters = 3", "expected a table", "found a number"),
    case("a date as a parameter", "k = 3", "k = 2020-01-01", "parameters.k", "date"),
    case("a truth value as a parameter", "k = 3", "k = true", "parameters.k", "expected a number", "a truth value"),
    case("misspelt section", "[parameters]", "[parametres]", "'parametres'", "did you mean 'parameters'?"),
    case("infinite parameter", "k = 3", "k = inf", "inf is not a number", place="5:5"),
    case("not-a-number constant", "pace = 0.5", "pace = nan", "nan is not a number"),
    case("enormous exponent", "pace = 0.5", "pace = 1e999999999", "too large"),
    Case("empty state", ("no state variable",), content=b"vernal = 1\n[state]\n[init]\n"),
    Case("no state", ("no 'state'",), content=b"vernal = 1\n[init]\n"),
    # Names
    Case("reserved variable", ("'G' is a reserved word",), {'on = "bool"': 'G = "bool"', "on = false": "G = false"}),
    case("reserved parameter", "k = 3", "k = 3\nsin = 3", "'sin' is a reserved word"),
    case("reserved label", "GREEN", "true", "'true' is a reserved word", "label"),
    case("variable as a label", "GREEN", "x", "label 'x' is also the name of a state variable"),
    case("function as a let", 'speed = "2 * x"', 'abs = "2 * x"', "'abs' is a reserved word"),
    case("duplicate name", 'speed = "2 * x"', 'n = "2 * x"', "'n' is already the name of a state variable"),
    case("no name at all", "pace = 0.5", 'pace = 0.5\n"my pace" = 0.5', "'my pace' is not a name"),
    case("duplicate label", "enum {RED, GREEN}", "enum {RED, RED}", "'RED' appears twice"),
    case("property called in_range", "safe =", "in_range =", "'in_range' is built in"),
    case("property without a name", "safe =", '"" =', "cannot name a property"),
    case("property with a line break in its name", "safe =", '"a\\nb" =', "cannot name a property"),
    case("unknown variable", "x + pace * push", "x + pace * puhs", "'puhs'", "did you mean 'push'?", place="27:17"),
    case("unknown function", "2 * x", "square(x)", "'square'"),
    case("unknown next", 'n = "min(n + 1, 9)"', 'm = "n"', "no state variable 'm'", place="28:1"),
    case(
        "lets in a circle", 'speed = "2 * x"', 'speed = "turn"\nturn = "speed + 1"', "circle", "speed -> turn -> speed"
    ),
    case("let that is itself", '"2 * x"', '"2 * speed"', "circle: speed -> speed"),
    case("state in a constant", "pace = 0.5", 'pace = "x / 2"', "'x' is a state variable", "a constant may use"),
    # Declarations and initial values
    case("unknown sort", '"bool"', '"boolean"', "'boolean'", "did you mean 'bool'?", place="13:7"),
    case("inverted range", "[-10, 10]", "[10, -10]", "inverted"),
    case("range of an enum", "enum {RED, GREEN}", "enum [0, 1]", "not a declaration"),
    case("fractional int range", "int [0, 9]", "int [0, 9.5]", "must be integers"),
    case("missing initial value", 'x = "[0, 1]"\n', "", "no initial value for x"),
    case("initial value of nothing", "n = 0", "n = 0\nm = 0", "no state variable 'm'"),
    case("inverted initial interval", '"[0, 1]"', '"[1, 0]"', "inverted interval"),
    case("empty initial interval", "n = 0", 'n = "[0.2, 0.8]"', "empty", "no integer"),
    case("too many integers", "n = 0", 'n = "[0, 1e9]"', "1000"),
    case("fractional int", "n = 0", "n = 0.5", "0.5 is no integer"),
    case("outside the range", '"[0, 1]"', '"[0, 11]"', "11", "outside its range [-10, 10]"),
    case("unknown label", '"RED"', '"AMBER"', "'AMBER' is not a label"),
    case("number for an enum", '"RED"', "1", "'light' is of sort enum"),
    case("truth value for a real", 'x = "[0, 1]"', "x = true", "not a value of sort real"),
    case("irrational start", '"[0, 1]"', '"pi"', "rational"),
    case("where that is no array", "n = 0", 'n = 0\nwhere = "x > 0"', "array of constraints"),
    case("where over a let", "n = 0", 'n = 0\nwhere = ["push > 0"]', "'push' is a let"),
    # Types
    case("wrong arity", "min(n + 1, 9)", "abs(n, 9)", "abs"),
    case("bool in arithmetic", "2 * x", "2 * on", "bool"),
    case("enum in arithmetic", "2 * x", "light + 1", "enum"),
    case("real into an int", "min(n + 1, 9)", "n + 0.5", "expected int", "this is real"),
    case("number into a bool", 'n = "min(n + 1, 9)"', 'on = "x"', "expected bool, but this is real"),
    case("non-exhaustive match", "2 * x", "match(light, RED: 1)", "GREEN"),
    case("division by zero", "2 * x", "x / 0", "0"),
    case("hidden division by zero", "2 * x", "x / (k - 3)", "0"),
    case("enormous power", "2 * x", "x ^ 100000000", "exponent"),
    case("power of powers", "2 * x", "9 ^ 9 ^ 9 ^ 9", "exponent"),
    case("20,000 nested brackets", "2 * x", "(" * 20_000 + "x" + ")" * 20_000, "nested"),
    case("unclosed bracket", "2 * x", "2 * (x", "'('"),
    case("broken expression", "2 * x", "2 * * x", "unexpected '*'", place="24:14"),
    case("inverted draw", "choose(-1, 1)", "between(1, -1)", "inverted"),
    case("real guard of an option", "choose(-1, 1)", "choose(-1 when x, 1)", "when needs truth values", place="23:24"),
    case("when outside a choice", "2 * x", "max(x when on, 0)", "belongs to an option of choose", place="24:14"),
    case(
        "an option left or not by a draw",
        "x + pace * push",
        "choose(1 when push > 0)",
        "whether the choice in 'x' has an option left cannot depend on what is drawn in the same step (push)",
        place="27:5",
    ),
    wrong_agent(
        "nothing to observe",
        "an agent observes the choice in 'pilot'",
        "without `when`",
        changes={'"x", "n"': '"x", "choose(n when on)"'},
    ),
    case("real guard", "[environment.let]", '[environment]\nenabled = "x"\n[environment.let]', "enabled", "real"),
    case(
        "drawn guard",
        "[environment.let]",
        '[environment]\nenabled = "push > 0"\n[environment.let]',
        "'push' draws anew",
    ),
    # Properties
    wrong_property("CTL*", "G (x <= 8) & AF (x > 0)", "CTL*"),
    wrong_property("inverted bound", "G[5,2] (x <= 8)", "5", "2"),
    wrong_property("fractional bound", "G[0,2.5] (x <= 8)", "2.5"),
    wrong_property("negative bound", "G[0-3,2] (x <= 8)", "negative"),
    wrong_property("bound over the state", "G[0,n] (x <= 8)", "a bound must be a constant"),
    wrong_property("draw in a property", "G (x <= choose(1, 2))", "choose"),
    wrong_property("drawn let in a property", "G (push <= 1)", "'push' draws anew"),
    wrong_property("number as a property", "G (x + 1)", "real"),
    wrong_property("no property", "", "nothing here"),
    # Parameters from outside
    Case("unknown parameter", ("no parameter 'kk'", "did you mean 'k'?"), options=("--set", "kk=3")),
    Case("bad parameter", ("--set k",), options=("--set", "k=3 +")),
    Case("parameter over the state", ("'x' is a state variable",), options=("--set", "k=x")),
    # Agents
    wrong_agent("missing network", "pilot.onnx", prepare=writes("other.txt", b"")),
    wrong_agent("unknown agent option", "'observes'", "did you mean 'observe'?", changes={"observe =": "observes ="}),
    wrong_agent("unknown way of acting", '"argmax", "raw"', changes={'labels = "light"': 'act = "softmax"'}),
    wrong_agent("too few observations", "takes 2 inputs", "observes 1", changes={'["x", "n"]': '["x"]'}),
    wrong_agent("other output count", "3 outputs", "2 labels", prepare=onnx_network(2, 3)),
    wrong_agent("labels of a real", "'x' is of sort real", changes={'labels = "light"': 'labels = "x"'}),
    wrong_agent("observed enum", "observes numbers", changes={'"n"': '"light"'}),
    wrong_agent("observed action", "'pilot' is the action", changes={'"n"': '"pilot == RED"'}),
    wrong_agent("out of range output", "out", changes={'labels = "light"': 'act = ["out[2]"]'}),
    wrong_agent("network by an int", "enum", changes={'"pilot.onnx"': '{ by = "n", networks = ["pilot.onnx"] }'}),
    wrong_agent(
        "one network for two", "1 networks", changes={'"pilot.onnx"': '{ by = "on", networks = ["pilot.onnx"] }'}
    ),
    wrong_agent("unknown format", ".onnx, .nnet, .h5", changes={"pilot.onnx": "pilot.pkl"}),
    wrong_agent("unsupported operator", "Hardmax", prepare=onnx_network(activation="Hardmax")),
    wrong_agent("truncated ONNX", "pilot.onnx", prepare=writes("pilot.onnx", onnx_bytes(2, 2)[:-20])),
    wrong_agent("random ONNX", "pilot.onnx", prepare=writes("pilot.onnx", NOISE)),
    wrong_agent("NaN weights", "NaN", prepare=onnx_network(weight=float("nan"))),
    wrong_agent("infinite weights", "infinit", prepare=onnx_network(weight=float("inf"))),
    wrong_agent("1 GiB claim in ONNX", "pilot.onnx", prepare=claiming_onnx),
    *(
        wrong_agent(f"{what} nnet", "net.nnet", changes={"pilot.onnx": "net.nnet"}, prepare=writes("net.nnet", content))
        for what, content in [
            ("random", NOISE),
            ("truncated", nnet("1")[:60]),
            ("NaN", nnet("nan")),
            ("1 GiB claim in", nnet("1", size=2**28)),
        ]
    ),
    *(
        wrong_agent(f"{what} h5", "net.h5", changes={"pilot.onnx": "net.h5"}, prepare=writes("net.h5", content))
        for what, content in [("random", NOISE), ("truncated", HDF5 + NOISE[:200])]
    ),
    # Memory
    wrong_agent("both directions", "cannot see the future", prepare=recurrent_onnx(direction="bidirectional")),
    wrong_agent("unknown activation", "'Softsign'", "Relu", prepare=recurrent_onnx(activations=["Softsign"])),
    wrong_agent("clipped gates", "without clip", prepare=recurrent_onnx("GRU", clip=1.0)),
    wrong_agent("peepholes", "peepholes", prepare=recurrent_onnx("LSTM", peepholes=True)),
    wrong_agent("recurrent weights that do not fit", "do not fit", prepare=recurrent_onnx(units=3)),
    wrong_agent("unclear memory", "not clear which are its memory", "carry", prepare=unclear_onnx),
    wrong_agent("memory of none", "has no memory", changes={'labels = "light"': 'labels = "light"\nmemory = 0'}),
    wrong_agent("name of none", "has no memory", changes={'labels = "light"': 'labels = "light"\nremember = "m"'}),
    wrong_agent("carry of none", "no output 'h'", changes={'labels = "light"': 'carry = { in = "h" }'}),
    remembering("memory of another length", "memory = [0, 1, 2]", "remembers 2 numbers", "3 starts are given"),
    remembering("inverted memory", 'memory = [0, "[2, 1]"]', "[2, 1] is an inverted interval"),
    remembering("irrational memory", 'memory = "pi"', "memory must be a rational number"),
    remembering("memory that is no number", "memory = true", "agents.pilot.memory", "a truth value"),
    remembering("taken name of a memory", 'remember = "x"', "'x' is already the name of a state variable"),
    remembering("component beyond the memory", 'remember = "m"', "2", formula="G[0,k] (m[2] <= 8)"),
    remembering("memory as a number", 'remember = "m"', "vector", formula="G[0,k] (m <= 8)"),
    remembering("memory without a name", "memory = 0", "'m'", formula="G[0,k] (m[0] <= 8)"),
    remembering("memory in the environment", 'remember = "m"\n[environment]\nenabled = "m[0] > 0"', "'m' is a memory"),
    wrong_agent("data without VERNAL_DATA", "VERNAL_DATA", changes={"pilot.onnx": "data:vcas/vcas_1.onnx"}),
]
