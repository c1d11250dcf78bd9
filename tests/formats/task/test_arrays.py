"""Arrays are written out: a task with arrays is the task in which each component is a variable written by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from tests.formats.task.test_blueprint import read, write_linear
from vernal import Verdict, check
from vernal.errors import InputError
from vernal.formats.predicates import read_predicates
from vernal.formats.task.blueprint import open_task
from vernal.interpret.exact import evaluate
from vernal.logic.elaboration import expression, formula, system_scope
from vernal.logic.parser import MAX_SYMBOLS
from vernal.logic.printing import text
from vernal.logic.scope import Scope
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.components import arrays_of
from vernal.model.expr import Expr
from vernal.model.index_range import index_range
from vernal.model.sorts import BOOL, INT
from vernal.model.system import Variable

SHORT = """
[parameters]
n = 3
[state]
d = "bool[n]"
p = "real[2] [-1, 1]"
k = "int[3] [0, 5]"
s = "enum[4] {RED, GREEN}"
i = "int [0, 2]"
[init]
d = "false"
p = ["[0, 0.1]", 0.5]
k = "[2 - j for j in 0..2]"
s = ["RED", "{RED, GREEN}", "RED", "GREEN"]
i = 0
where = ["sum(p[j] for j in 0..1) <= 0.55"]
[environment.let]
free = "count(!d[j] for j in 0..n-1)"
[environment.next]
d = "[d[j] | i == j for j in 0..n-1]"
p = ["0.5*p[0] + 0.1*p[1]", "p[0]"]
"k[1]" = "min(k[i], 4) + 1"
s = "[if(j == 0, GREEN, s[j-1]) for j in 0..3]"
i = "(i + 1) % 3"
[properties]
bounded = "G[0,5] (sum(p) <= 0.55)"
filled = "F[0,3] all(d)"
each = "all(F[0,j+1] d[j] for j in 0..2)"
two = "G[0,3] (count(d) <= 2)"
some = "G[1,4] any(s[j] == RED & d[0] for j in 0..3)"
here = "G[0,2] !d[i]"
largest = "G[0,5] (max(p[j] for j in 0..1) <= 0.5 & free >= 0 & min(k) >= 0)"
nothing = "all(d[j] for j in 0..-1) & !any(d[j] for j in 0..-1) & sum(k[j] for j in 1..0) == 0"
"""

LONG = """
[state]
d0 = "bool"
d1 = "bool"
d2 = "bool"
p0 = "real [-1, 1]"
p1 = "real [-1, 1]"
k0 = "int [0, 5]"
k1 = "int [0, 5]"
k2 = "int [0, 5]"
s0 = "enum {RED, GREEN}"
s1 = "enum {RED, GREEN}"
s2 = "enum {RED, GREEN}"
s3 = "enum {RED, GREEN}"
i = "int [0, 2]"
[init]
d0 = "false"
d1 = "false"
d2 = "false"
p0 = "[0, 0.1]"
p1 = 0.5
k0 = 2
k1 = 1
k2 = 0
s0 = "RED"
s1 = "{RED, GREEN}"
s2 = "RED"
s3 = "GREEN"
i = 0
where = ["p0 + p1 <= 0.55"]
[environment.let]
free = "if(!d0, 1, 0) + if(!d1, 1, 0) + if(!d2, 1, 0)"
[environment.next]
d0 = "d0 | i == 0"
d1 = "d1 | i == 1"
d2 = "d2 | i == 2"
p0 = "0.5*p0 + 0.1*p1"
p1 = "p0"
k1 = "min(match(i, 0: k0, 1: k1, _: k2), 4) + 1"
s0 = "GREEN"
s1 = "s0"
s2 = "s1"
s3 = "s2"
i = "(i + 1) % 3"
[properties]
bounded = "G[0,5] (p0 + p1 <= 0.55)"
filled = "F[0,3] (d0 & d1 & d2)"
each = "F[0,1] d0 & F[0,2] d1 & F[0,3] d2"
two = "G[0,3] (if(d0, 1, 0) + if(d1, 1, 0) + if(d2, 1, 0) <= 2)"
some = "G[1,4] (s0 == RED & d0 | s1 == RED & d0 | s2 == RED & d0 | s3 == RED & d0)"
here = "G[0,2] !match(i, 0: d0, 1: d1, _: d2)"
largest = "G[0,5] (max(p0, p1) <= 0.5 & free >= 0 & min(k0, k1, k2) >= 0)"
nothing = "true & !false & 0 == 0"
"""

VERDICTS = {
    "bounded": Verdict.HOLDS,  # p[0] + p[1] <= 0.55 initially, then 1.5 p[0] + 0.1 p[1] <= 0.2
    "filled": Verdict.HOLDS,
    "each": Verdict.HOLDS,
    "two": Verdict.VIOLATED,
    "some": Verdict.VIOLATED,
    "here": Verdict.HOLDS,
    "largest": Verdict.HOLDS,
    "nothing": Verdict.HOLDS,
}


def by_hand(shown: object) -> str:
    """`d[3]` as `d3`."""
    return re.sub(r"\b([a-z])\[(\d+)\]", r"\1\2", str(shown))


def summary(task: Task) -> list[str]:
    """All that a task says, as text."""
    system = task.system
    told = [f"{v.name}: {v.sort} {v.lower} {v.upper}" for v in system.state]
    told += [f"{name} starts {start}" for name, start in system.init.starts.items()]
    told += [text(constraint) for constraint in system.init.where]
    told += [f"{name} = {text(node)}" for name, node in {**system.lets, **system.next}.items()]
    return [by_hand(line) for line in told + [text(claim) for claim in task.properties.values()]]


def test_a_task_with_arrays_is_the_one_written_by_hand(tmp_path: Path) -> None:
    assert summary(read(tmp_path, SHORT)) == summary(read(tmp_path, LONG))


def test_verdicts_are_those_of_the_one_written_by_hand(tmp_path: Path) -> None:
    short, long = check(read(tmp_path, SHORT)), check(read(tmp_path, LONG))
    assert {name: result.verdict for name, result in short.items()} == VERDICTS
    assert {name: result.verdict for name, result in long.items()} == VERDICTS


@pytest.mark.parametrize("engine", ["bounds", "paths", "milp", "smt"])
def test_engines_agree(tmp_path: Path, engine: str) -> None:
    for name, result in check(read(tmp_path, SHORT), engine=engine).items():
        assert result.verdict in {VERDICTS[name], Verdict.UNKNOWN}


def test_tasks_of_one_file_share_arrays(tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    start = '[parameters]\nk = 1\n[state]\nd = "int[3]"\n[init]\nd = "[k*i for i in 0..2]"\n'
    path.write_text(f'vernal = 1\n{start}[properties]\np = "d[k] == k*k"\n', encoding="utf-8")
    opened = open_task(path)
    for k in (1, 2, 0):
        assert check(opened.task({"k": k}))["p"].verdict is Verdict.HOLDS


def test_traces_name_components(tmp_path: Path) -> None:
    result = check(read(tmp_path, SHORT), "G[0,3] (count(d) <= 2)")
    assert result.verdict is Verdict.VIOLATED
    assert result.trace is not None
    assert [result.trace.steps[3].state[name] for name in ("d[0]", "d[1]", "d[2]")] == [1, 1, 1]


@pytest.mark.parametrize("name", VERDICTS)
def test_formulas_are_read_back(tmp_path: Path, name: str) -> None:
    task = read(tmp_path, SHORT)
    assert formula(text(task.properties[name]), system_scope(task.system)) == task.properties[name]


def test_the_number_of_components_may_be_a_parameter(tmp_path: Path) -> None:
    short = """
[parameters]
n = 2
[state]
d = "bool[n]"
[init]
d = "[j == 0 for j in 0..n-1]"
[environment.next]
d = "[d[(j + n - 1) % n] for j in 0..n-1]"
"""
    task = read(tmp_path, short, {"n": 4})
    assert [text(node) for node in task.system.next.values()] == ["d[3]", "d[0]", "d[1]", "d[2]"]
    assert check(task, "G count(d) == 1").verdict is Verdict.HOLDS
    assert check(task, "G (d[3] -> X d[0])").verdict is Verdict.HOLDS


def test_every_index_draws_for_itself(tmp_path: Path) -> None:
    drawn = '[environment.next]\nd = "[choose(true, false when i > 0) for i in 0..2]"\n'
    task = read(tmp_path, f'[state]\nd = "bool[3]"\n[init]\nd = false\n{drawn}')
    assert check(task, "EX (d[1] & !d[2])").verdict is Verdict.HOLDS
    assert check(task, "EX !(d[1] | d[2])").verdict is Verdict.HOLDS
    assert check(task, "AX d[0]").verdict is Verdict.HOLDS


def test_components_of_other_models_are_arrays_only_if_they_are_alike() -> None:
    p = {name: Variable(name, INT) for name in ("a[0]", "a[1]", "b[0]", "b[2]", "c[0]", "c", "e[0]")}
    assert arrays_of([*p.values(), Variable("e[1]", BOOL)]).keys() == {"a"}
    assert expression("b[2]", Scope({name: v.var for name, v in p.items()})) is p["b[2]"].var


def test_files_of_predicates_know_arrays(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('predicates = ["all(d)", "d[i]"]', encoding="utf-8")
    task = read(tmp_path, SHORT)
    scope = system_scope(task.system)
    expected = (expression("d[0] & d[1] & d[2]", scope), expression("d[i]", scope))
    assert read_predicates(tmp_path / "p.toml", task) == expected


# Indices --------------------------------------------------------------------------------------------------------------

GRID = """
[state]
d = "int[6] [0, 25]"
row = "int [0, 1]"
column = "int [0, 2]"
[init]
d = "[j*j for j in 0..5]"
row = "{0, 1}"
column = "{0, 1, 2}"
[environment.let]
at = "3*row + column"
later = "at + 0*row"
"""
INDICES = ["3*row + column", "5 - column - row", "(row + 7*column) % 6", "(row + 9*column) // 4", "clip(9*row, 0, 5)"]
INDICES += ["if(row == 0, column, 5)", "max(column, 3 + row)", "match(row, 0: column, _: 4)", "-row + 1"]


def value(node: Expr, state: Mapping[Expr, Fraction]) -> Fraction:
    (found,) = evaluate([node], state)
    assert isinstance(found, Fraction)
    return found


@pytest.mark.parametrize("index", INDICES)
def test_an_index_takes_its_component(tmp_path: Path, index: str) -> None:
    scope = system_scope(read(tmp_path, GRID).system)
    number, component = (expression(one, scope) for one in (index, f"d[{index}]"))
    for row, column in product(range(2), range(3)):
        values = {"row": row, "column": column} | {f"d[{j}]": j * j for j in range(6)}
        state = {scope.names[name]: Fraction(value) for name, value in values.items()}
        assert value(component, state) == value(number, state) ** 2


@pytest.mark.parametrize("index", [*INDICES, "at", "later"])
def test_an_index_is_known_to_be_inside(tmp_path: Path, index: str) -> None:
    task = read(tmp_path, f'{GRID}[properties]\np = "d[{index}] >= 0"\n')
    assert check(task)["p"].verdict is Verdict.HOLDS


def test_ends_of_an_index_contain_its_values() -> None:
    x = build.var("x", INT)
    nodes = [build.remainder(x, -3), build.neg(x), build.quotient(x, 2), build.mul(x, -2), build.absolute(x)]
    for node in nodes:
        lower, upper = index_range(node, {"x": (Fraction(-4), Fraction(3))})
        assert all(lower <= value(node, {x: Fraction(at)}) <= upper for at in range(-4, 4))


def test_outside_its_range_an_index_takes_the_last_component_and_a_note_says_so(tmp_path: Path) -> None:
    task = read(tmp_path, GRID + '[environment.next]\ncolumn = "column + 1"\n')
    result = check(task, "X[9] (d[column] == 25)")
    assert result.verdict is Verdict.HOLDS
    assert any("column" in note for note in result.notes)


# Agents ---------------------------------------------------------------------------------------------------------------


def test_agents_observe_arrays_and_their_actions_are_indices(tmp_path: Path) -> None:
    write_linear(tmp_path / "eye.onnx", [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    task = read(
        tmp_path,
        """
[state]
p = "real[3]"
[init]
p = [1, 3, 2]
[agents.largest]
policy = "eye.onnx"
observe = ["p"]
[agents.smallest]
policy = "eye.onnx"
observe = ["[-p[i] for i in 0..2]"]
[agents.single]
policy = "eye.onnx"
observe = ["p[1]", "p[0]", "p[2]"]
[environment.next]
p = "[if(i == largest, p[i] - 2, p[i]) for i in 0..2]"
[properties]
top = "p[largest] == 3 & p[smallest] == 1 & single == 0"
less = "X (p[largest] == 2)"
""",
    )
    assert {result.verdict for result in check(task).values()} == {Verdict.HOLDS}


# Messages -------------------------------------------------------------------------------------------------------------


def small(changes: dict[str, str]) -> str:
    """A small task in which some values are others."""
    entries = {"d": '"bool[3]"', "p": '"real[2] [-1, 1]"', "i": '"int [0, 9]"', "d0": '"false"', "p0": "[0, 1]"}
    entries |= {"init": "", "next": "", "q": '"true"'} | changes
    return (
        f"[state]\nd = {entries['d']}\np = {entries['p']}\ni = {entries['i']}\n"
        f"[init]\nd = {entries['d0']}\np = {entries['p0']}\ni = 0\n{entries['init']}\n"
        f"[environment.next]\n{entries['next']}\n[properties]\nq = {entries['q']}\n"
    )


REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "size": ({"d": '"bool[0]"'}, "the size of an array is a positive integer, not 0"),
    "half": ({"d": '"bool[2.5]"'}, "the size of an array is a positive integer, not 2.5"),
    "many": ({"d": '"bool[9999]"'}, "with these 9999 components the state has more than 5,000"),
    "varying": ({"d": '"bool[i]"'}, "'i' is a state variable; the size of an array may use"),
    "broken": ({"d": '"boole[3]"', "next": '"d[0]" = "d[1]"', "q": '"all(d)"'}, "unknown sort 'boole'"),
    "component": ({"q": '"d[3]"'}, "there is no component 3; the array has components 0 to 2"),
    "negative": ({"q": '"all(d[i-1] for k in 0..1)"'}, "this index may be from -1 to 8"),
    "index": ({"q": '"d[i]"'}, "this index may be from 0 to 9, but the array has components 0 to 2; declare narrower"),
    "real": ({"q": '"d[p[0]]"'}, "the number of a component must be an integer, but this is of sort real"),
    "truth": ({"q": '"d"'}, "'d' is an array of 3 values of sort bool, where one value is wanted; name a component"),
    "vector": ({"q": '"p > 0"'}, "this is a vector of 2 truth values; name a component"),
    "number": ({"next": 'i = "p"'}, "expected int, but this is real"),
    "start": ({"p0": "[0, 1, 2]"}, "'p' has 2 components, 0 to 1, but here are 3 entries"),
    "range": ({"p0": "[0, 7]"}, "the initial value 7 of 'p[1]' is outside its range"),
    "starts": ({"d0": '"[k > 1 for k in 0..1]"'}, "the array has 3 components, 0 to 2, but these are 2"),
    "unsuited": ({"d0": '"[k for k in 0..2]"'}, "expected bool for each component, but this is int"),
    "moving": ({"p0": '"[p[k] for k in 0..1]"'}, "'p' is a state variable; an initial value may use"),
    "twice": ({"init": '"d[1]" = "true"'}, "'d[1]' is given twice: by itself, and as a component of 'd'"),
    "beyond": ({"next": '"d[3]" = "true"'}, "there is no 'd[3]': the array 'd' has components 0 to 2"),
    "scalar": ({"next": '"i[0]" = 1'}, "there is no 'i[0]': 'i' is a single value and has no components"),
    "unknown": ({"next": '"e[0]" = 1'}, "there is no state variable 'e[0]'"),
    "next": ({"next": 'd = "[true for k in 0..3]"'}, "the array has 3 components, 0 to 2, but these are 4"),
    "entries": ({"next": 'd = ["true"]'}, "'d' has 3 components, 0 to 2, but here are 1 entries"),
    "one": ({"next": 'd = "true"'}, "this is one value, but an array needs one for each component"),
    "plain": ({"next": "p = 1"}, "'p' is an array of 2; give each of its components a next value"),
    "list": ({"next": "i = [1]"}, "'i' is one value, but this is an array"),
    "sort": ({"next": 'd = "[k for k in 0..2]"'}, "expected bool for each component, but this is int"),
    "taken": ({"q": '"all(d[i] for i in 0..2)"'}, "'i' is already the name of something else"),
    "ends": ({"q": '"all(d[k] for k in 0..i)"'}, "an index runs from one constant integer to another"),
    "inverted": ({"q": '"all(d[k] for k in 5..2)"'}, "5..2 is inverted"),
    "empty": ({"q": '"min(p[k] for k in 1..0) > 0"'}, "the index has no value here"),
    "counted": ({"q": '"count(p) > 0"'}, "count needs truth values, but this is an array of sort real"),
    "summed": ({"q": '"sum(d[k] for k in 0..2) > 0"'}, "sum needs numbers, but this is of sort bool"),
    "function": ({"q": '"every(d[k] for k in 0..2)"'}, "'every' does not take one operand for each index"),
    "nested": (
        {"q": '"all(all(all(i > j*k*l for j in 0..99) for k in 0..99) for l in 0..99)"'},
        f"written out for each index, this task has more than {MAX_SYMBOLS:,} names, numbers and signs",
    ),
    "missing": ({"d": '"bool[3]"\nf = "bool[2]"', "init": '"f[0]" = true'}, "no initial value for f[1]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said(tmp_path: Path, name: str) -> None:
    changes, message = REFUSED[name]
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(tmp_path, small(changes))
    assert caught.value.place is not None
    assert not hasattr(caught.value, "problems"), "one mistake is one message"


def test_without_changes_nothing_is_wrong(tmp_path: Path) -> None:
    assert check(read(tmp_path, small({})))["q"].verdict is Verdict.HOLDS
