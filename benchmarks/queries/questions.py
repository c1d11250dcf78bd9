"""Questions about our own networks: a box of inputs, a claim about the outputs, and the answer where it is established.

questions.csv holds them, a line each: set, name, network, ends of the inputs, claim, seconds, answer, how that was
established. A claim is written `Y_0 <= Y_1 & Y_0 <= Y_2 | Y_3 >= 1.5`. `write` makes a folder of ONNX and VNN-LIB files
of a set with its list; the same files on every machine.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.learning import Floats, onnx_chain
from benchmarks.queries.instances import LIST, Instance, write_list
from benchmarks.queries.networks import HERE, NETWORKS, load

QUESTIONS = HERE / "questions.csv"
ATOM = re.compile(r"\s*(Y_\d+)\s*(<=|>=)\s*(Y_\d+|-?\d+(?:\.\d+)?)\s*")

Ends = tuple[str, str]  # decimals
Atom = tuple[str, str, str]


@dataclass(frozen=True)
class AskedQuestion:
    """Is there an input in the box for which the claim is true?"""

    suite: str
    name: str
    network: str
    box: tuple[Ends, ...]
    claim: str
    limit: float
    answer: str = ""
    how: str = ""

    @property
    def cases(self) -> list[list[Atom]]:
        """The claim as alternatives, each a list of comparisons."""
        return [[_atom(part) for part in case.split("&")] for case in self.claim.split("|")]

    def ends(self) -> tuple[Floats, Floats]:
        """Lower and upper ends as floats, for searches that need no rigour."""
        lower, upper = np.array([[float(end) for end in ends] for ends in self.box]).T
        return lower, upper


def _atom(text: str) -> Atom:
    found = ATOM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text.strip()!r} is no comparison; write Y_0 <= Y_1 or Y_0 >= 1.5")
    return found[1], found[2], found[3]


def rows(question: AskedQuestion, outputs: int) -> tuple[Floats, Floats, list[list[int]]]:
    """Rows and constants of all comparisons, true where row * outputs + constant >= 0, and the rows of each case."""
    weights, constants, cases = list[Floats](), list[float](), list[list[int]]()
    for case in question.cases:
        cases.append([])
        for left, op, right in case:
            row, sign = np.zeros(outputs), 1.0 if op == ">=" else -1.0
            row[int(left[2:])] += sign
            if right.startswith("Y_"):
                row[int(right[2:])] -= sign
            constants.append(0.0 if right.startswith("Y_") else -sign * float(right))
            cases[-1].append(len(weights))
            weights.append(row)
    return np.array(weights), np.array(constants), cases


def margin(values: Floats, cases: Sequence[Sequence[int]]) -> Floats:
    """How clearly a claim is true (not negative) or false, from the values of its comparisons in the last axis."""
    return np.asarray(np.stack([values[..., list(case)].min(-1) for case in cases], -1).max(-1))


# The table ------------------------------------------------------------------------------------------------------------


def read_questions(path: Path = QUESTIONS) -> list[AskedQuestion]:
    """All questions of the table."""
    with path.open(newline="") as lines:
        return [_question(row) for row in csv.reader(lines)]


def _question(row: Sequence[str]) -> AskedQuestion:
    suite, name, network, box, claim, limit, answer, how = row
    ends = tuple((low, high) for low, _, high in (pair.partition(":") for pair in box.split()))
    return AskedQuestion(suite, name, network, ends, claim, float(limit), answer, how)


def write_questions(questions: Iterable[AskedQuestion], path: Path = QUESTIONS) -> None:
    """The table, a line for each question."""
    with path.open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        for one in questions:
            box = " ".join(f"{low}:{high}" for low, high in one.box)
            writer.writerow([one.suite, one.name, one.network, box, one.claim, f"{one.limit:g}", one.answer, one.how])


# Files ----------------------------------------------------------------------------------------------------------------


def vnnlib(question: AskedQuestion, outputs: int) -> str:
    """The question in version 1 of VNN-LIB, which every verifier reads."""
    lines = [f"; {question.name}"]
    lines += [f"(declare-const X_{index} Real)" for index in range(len(question.box))]
    lines += [f"(declare-const Y_{index} Real)" for index in range(outputs)]
    for index, (low, high) in enumerate(question.box):
        lines += [f"(assert (>= X_{index} {low}))", f"(assert (<= X_{index} {high}))"]
    cases = [[f"({op} {left} {right})" for left, op, right in case] for case in question.cases]
    if len(cases) == 1:
        lines += [f"(assert {atom})" for atom in cases[0]]
    else:
        lines += ["(assert (or", *(f"    (and {' '.join(case)})" for case in cases), "))"]
    return "\n".join(lines) + "\n"


def write(questions: Sequence[AskedQuestion], folder: Path) -> list[Instance]:
    """Networks, queries and their list into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(one.network for one in questions):
        (folder / f"{name}.onnx").write_bytes(onnx_chain(load(name), NETWORKS[name].function, name))
    made = []
    for one in questions:
        query = folder / f"{one.name}.vnnlib"
        query.write_text(vnnlib(one, NETWORKS[one.network].sizes[-1]))
        made.append(Instance(folder / f"{one.network}.onnx", query, one.limit, one.answer or None, one.how))
    write_list(folder / LIST, made)
    return made
