"""Programs of ReLU networks: columns mean what nodes do, and the adapter ends in time whatever its process does."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from vernal.errors import MissingExtra, NameUnknown
from vernal.interpret.relus import NoColumn, ReluColumns, ReluProgram, ReluRow
from vernal.model import build
from vernal.model import expr as e
from vernal.model.sorts import BOOL
from vernal.solvers import registry
from vernal.solvers.base import Satisfiable
from vernal.solvers.marabou import Marabou

STANDING_IN = """
import time
class MarabouCore:
    class InputQuery:
        def __init__(self): self.ends = {}
        def setNumberOfVariables(self, count): self.count = count
        def setLowerBound(self, column, end): self.ends[column] = end
        def setUpperBound(self, column, end): pass
        def markInputVariable(self, column, place): pass
        def addEquation(self, equation): pass
    class Options: pass
    class Equation:
        EQ, LE = range(2)
        def __init__(self, kind): pass
        def addAddend(self, factor, column): pass
        def setScalar(self, constant): pass
    @staticmethod
    def addReluConstraint(query, argument, value): pass
    @staticmethod
    def solve(query, options, redirect):
        print("noise")
        if query.ends[0] == 7: time.sleep(60)
        if query.ends[0] == 8: raise SystemExit
        return ("unsat", {}, None) if query.ends[0] == 9 else ("sat", query.ends, None)
    @staticmethod
    def calculateBounds(query, options, redirect):
        return "", {column: (end, end + 1) for column, end in query.ends.items()}, None
"""


def first_at(value: float) -> ReluProgram:
    ends = np.array([value, 0.0])
    return ReluProgram(ends, ends + 1, 2, (ReluRow({0: 1.0, 1: -1.0}, 0.5),), ())


@pytest.fixture
def marabou(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Marabou:
    (tmp_path / "maraboupy.py").write_text(STANDING_IN, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    return Marabou(sys.executable)


def test_answers_come_back_and_a_late_process_is_replaced(marabou: Marabou) -> None:
    assert marabou.solve(first_at(9)).status is Satisfiable.NO
    found = marabou.solve(first_at(2))
    assert found.status is Satisfiable.YES
    assert found.point is not None
    assert found.point.tolist() == [2.0, 0.0]
    assert marabou.solve(first_at(7), time_limit=0.1).status is Satisfiable.UNKNOWN
    assert marabou.solve(first_at(8)).status is Satisfiable.UNKNOWN
    known = marabou.bounds(first_at(2))
    assert known is not None
    assert (known.lower.tolist(), known.upper.tolist()) == ([2.0, 0.0], [3.0, 1.0])
    marabou.close()


def test_what_stops_the_work_ends_the_process(marabou: Marabou) -> None:
    marabou.check()

    def tick() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        marabou.solve(first_at(7), tick=tick)
    assert marabou.solve(first_at(9)).status is Satisfiable.NO
    marabou.close()


@pytest.mark.skipif(find_spec("maraboupy") is not None, reason="it is here")
def test_the_extra_is_named_where_it_is_missing() -> None:
    with pytest.raises(MissingExtra, match=r"vernal\[marabou\]"):
        registry.find_relus("marabou")
    with pytest.raises(NameUnknown, match="not made for ReLU"):
        registry.find_relus("highs")
    with pytest.raises(NameUnknown, match="there is no solver"):
        registry.find_relus("marabu")


def test_columns_are_sums_and_positive_parts() -> None:
    """The equations, solved column by column, give what the network does."""
    x, flag = build.var("x"), build.var("flag", BOOL)
    weight, bias = np.array([[1.0, -2.0], [0.0, 1.0]]), np.array([0.5, -2.0])
    seen = build.concat(x, build.if_(flag, 3, 1))
    hidden = build.relu(build.affine(seen, e.Matrix(weight), e.Matrix(bias)))
    columns = ReluColumns([x, flag])
    places = columns.need(hidden)
    program = columns.program(np.array([0.0, 0.0]), np.array([4.0, 1.0]))
    for inputs in ([0.0, 0.0], [4.0, 1.0], [3.0, 0.0]):
        values = solved(program, inputs)
        wanted = np.maximum(weight @ [inputs[0], 3.0 if inputs[1] else 1.0] + bias, 0)
        assert [values[place] for place in places] == wanted.tolist()
    with pytest.raises(NoColumn, match="abs"):
        columns.need(build.absolute(x))


def solved(program: ReluProgram, inputs: list[float]) -> dict[int, float]:
    values = dict(enumerate(inputs))
    pairs = {value: argument for argument, value in program.relus}
    sums = {max(row.factors): row for row in program.rows if row.equal}
    for column in range(program.inputs, len(program.lower)):
        if column in pairs:
            values[column] = max(values[pairs[column]], 0.0)
        else:
            others = sum(factor * values[c] for c, factor in sums[column].factors.items() if c != column)
            values[column] = others - sums[column].constant
    return values
