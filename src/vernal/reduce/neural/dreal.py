"""A second opinion on a certified error: the question whether it can be exceeded, as a script for dReal.

dReal decides nonlinear questions over the reals up to a tolerance; its "unsat" is a proof. Vernal does not need it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from vernal.errors import VernalError
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.smt import PartialSpan, Script, number
from vernal.model import build
from vernal.model.expr import Expr, Function, Nonlinear
from vernal.model.graph import order
from vernal.model.system import Model
from vernal.reduce.neural.difference import ErrorField

OWN = (
    Function.SIN,
    Function.COS,
    Function.TAN,
    Function.ATAN,
    Function.TANH,
    Function.EXP,
    Function.LOG,
    Function.SQRT,
)
TERMS = {function: f"({function.value} {{}})" for function in OWN} | {
    Function.SIGMOID: "(/ 1.0 (+ 1.0 (exp (- {}))))",
}


def dreal_query(
    flow: Model, weights: Sequence[Floats], biases: Sequence[Floats], lower: Floats, upper: Floats, error: Floats
) -> str:
    """A script that is unsatisfiable where |f_i - N_i| <= error_i everywhere in the region."""
    difference = ErrorField.of(flow, weights, biases)
    ends = zip(difference.coordinates, *(end.tolist() for end in difference.region(lower, upper)), strict=True)
    script = Script({var: [PartialSpan(Fraction(low), Fraction(high))] for var, low, high in ends})
    for var in difference.coordinates:
        script.need(var)
    exceeded = [
        f"(< {number(Fraction(bound))} {_term(script, side)})"
        for i, bound in enumerate(error.tolist())
        for side in _sides(difference, i)
    ]
    script.claim(f"(or {' '.join(exceeded)})")
    lines = ["(set-logic QF_NRA)", *map(_declared, script.lines), "(check-sat)", "(exit)", ""]
    return "\n".join(lines)


def _declared(line: str) -> str:
    """A declaration as all versions of dReal read it."""
    if not line.startswith("(declare-const "):
        return line
    return line.replace("(declare-const ", "(declare-fun ", 1).replace(" Real)", " () Real)", 1)


def _sides(difference: ErrorField, i: int) -> tuple[Expr, Expr]:
    value = build.sub(difference.rates[i], build.component(difference.network, i))
    return value, build.neg(value)


def _term(script: Script, root: Expr) -> str:
    """The term of a scalar; elementary functions, which scripts have no terms for, are dReal's."""
    for node in order([root]):
        if isinstance(node, Nonlinear) and node.function in TERMS and node not in script.values:
            (arg,) = script.need(node.args[0])
            script.values[node] = (script.define(TERMS[node.function].format(arg)),)
    return script.need(root)[0]


def dreal_confirms(query: str, timeout: float = 60.0) -> bool:
    """Whether dReal, which has to be installed, proves a script unsatisfiable in time."""
    program = shutil.which("dreal")
    if program is None:
        raise VernalError("there is no dreal on the PATH; see https://dreal.github.io")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "query.smt2"
        file.write_text(query, encoding="utf-8")
        try:
            found = subprocess.run([program, str(file)], capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return False
    return found.returncode == 0 and found.stdout.strip() == "unsat"
