"""Certificate files: a header, then one set of states a line (docs/certificates.md)."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from vernal_check import syntax
from vernal_check.errors import Unreadable
from vernal_check.graph import SetNode
from vernal_check.system import Cell, Region, Row
from vernal_check.task import Variable

VERSION, STEPS, SECONDS, QUERY = 1, "steps-1", "seconds-1", "query-1"
HEADER = {
    "certificate",
    "semantics",
    "tool",
    "task",
    "formula",
    "property",
    "verdict",
    "variables",
    "worlds",
    "state",
    "map",
    "graph",
}
SET = {"name", "set", "rows", "where", "to", "first", "walk", "induction", "after"}
NETWORK = re.compile(r"[a-z0-9_]{1,40}\.onnx")
MAX_BYTES = 2**30
MAX_LINE = 2**20
MAX_DIGITS = 4000
MAX_INDUCTION = 100


@dataclass(frozen=True)
class Graph:
    """The task as a text that the certificate brings, and its networks by name."""

    task: str
    networks: Mapping[str, bytes]


@dataclass(frozen=True)
class Header:
    """What a certificate is about."""

    task: Mapping[str, Any]
    formula: str
    property: str | None
    variables: tuple[str, ...]
    worlds: Mapping[str, str]  # texts by name
    graph: Graph | None = None  # of the task, where its own files need not be read
    map: Any = None  # its axes and tree, where it is about the cells of a map
    semantics: str = STEPS
    state: list[Any] | None = None  # an initial state at which the claim is false; None where it is true of all


def lines(file: Path) -> Iterator[Any]:
    """The lines of a file as JSON; numbers are exact."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise Unreadable(f"{file} is larger than {MAX_BYTES >> 20} MiB")
        with file.open(encoding="utf-8") as stream:
            while line := stream.readline(MAX_LINE):
                if len(line) == MAX_LINE:
                    raise Unreadable("a line is too long")
                if line.strip():
                    yield parsed(line)
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{file} cannot be read: {error}") from None


def parsed(line: str) -> Any:
    try:
        return json.loads(line, parse_float=number, parse_int=number, parse_constant=number, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"a line is no JSON: {str(error)[:80]}") from None


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise Unreadable("a key appears twice in one object")
    return dict(pairs)


def number(text: str) -> Fraction:
    """A number as it is written: `3`, `-0.25`, `1e-3`, `2/3`."""
    power = text.lower().partition("e")[2]
    if len(text) > MAX_DIGITS or len(power) > 4 or (power and abs(int(power)) > 400):
        raise Unreadable(f"the number {text[:20]}... is too long")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise Unreadable(f"{text[:40]!r} is no number") from None


def header(document: Any) -> Header:
    if not isinstance(document, dict) or "certificate" not in document:
        raise Unreadable("not a certificate: its first line is no header")
    if (
        set(document) - HEADER
        or document["certificate"] != VERSION
        or document.get("semantics") not in (STEPS, SECONDS, QUERY)
    ):
        raise Unreadable(f"a certificate of version {document['certificate']} is not read, only of {VERSION}")
    state = document.get("state")
    verdict = "unsat" if document["semantics"] == QUERY else "holds" if state is None else "violated"
    if document.get("verdict") != verdict or not isinstance(state, list | None):
        raise Unreadable("a certificate is about a claim that holds, or a state at which it is violated")
    task, formula, named = document.get("task"), document.get("formula"), document.get("property")
    variables = document.get("variables")
    if not isinstance(task, dict) or not isinstance(formula, str) or not isinstance(named, str | None):
        raise Unreadable("not a certificate: its header names no task and formula")
    if not isinstance(variables, list) or not all(isinstance(name, str) for name in variables):
        raise Unreadable("not a certificate: its header names no variables")
    worlds = document.get("worlds", {})
    if not isinstance(worlds, dict) or not all(isinstance(text, str) for text in worlds.values()):
        raise Unreadable("not a certificate: its worlds are no texts")
    kept = graph(document.get("graph"))
    return Header(
        task, formula, named, tuple(variables), worlds, kept, document.get("map"), document["semantics"], state
    )


def graph(document: Any) -> Graph | None:
    """The graph that a header brings; its networks have the names of files, and nothing else in them."""
    if document is None:
        return None
    networks = (
        document.get("networks") if isinstance(document, dict) and set(document) == {"task", "networks"} else None
    )
    if not isinstance(networks, dict) or not isinstance(document["task"], str):
        raise Unreadable("not a certificate: its graph is no task with networks")
    if not all(NETWORK.fullmatch(name) and isinstance(content, str) for name, content in networks.items()):
        raise Unreadable("not a certificate: a network of its graph has no name, or is no text")
    try:
        return Graph(document["task"], {name: b64decode(text, validate=True) for name, text in networks.items()})
    except ValueError:
        raise Unreadable("not a certificate: a network of its graph is not in base 64") from None


def node(document: Any, place: int, variables: list[Variable]) -> SetNode:
    """One set: a list of cells, or an object with more."""
    if isinstance(document, list):
        document = {"set": document}
    if not isinstance(document, dict) or set(document) - SET or "set" not in document:
        raise Unreadable(f"line {place}: not a set of states")
    after, first = document.get("to"), document.get("first", False)
    walk, count, where = document.get("walk", False), document.get("induction", Fraction(0)), document.get("where")
    if not isinstance(after, list | None) or not isinstance(first, bool) or not isinstance(walk, bool):
        raise Unreadable(f"line {place}: `to` is a list of names, `first` and `walk` are truth values")
    later = document.get("after", Fraction(0))
    if not isinstance(where, str | None) or not {count, later} <= set(range(MAX_INDUCTION)):
        raise Unreadable(f"line {place}: `where` is a condition, `induction` and `after` are small numbers")
    named = None if after is None else tuple(map(str, after))
    region = cells(document["set"], variables, place)
    rows = tuple(row(item, variables, place) for item in listed(document.get("rows", []), place))
    condition = None if where is None else syntax.expression(where)
    if condition is not None and syntax.has_draw(condition):
        raise Unreadable(f"line {place}: nothing is drawn in a condition")
    return SetNode(
        str(document.get("name", place)), region, named, first, walk, rows, condition, int(count), int(later)
    )


def cells(document: Any, variables: list[Variable], place: int) -> Region:
    if not isinstance(document, list) or len(document) != len(variables):
        raise Unreadable(f"line {place}: a set says something of each of the {len(variables)} variables")
    return tuple(cell(item, variable, place) for item, variable in zip(document, variables, strict=True))


def listed(document: Any, place: int) -> list[Any]:
    if not isinstance(document, list):
        raise Unreadable(f"line {place}: a list is expected")
    return document


def row(document: Any, variables: list[Variable], place: int) -> Row:
    """Coefficients of the variables, and what their sum is at most."""
    numbers = [number(item) if isinstance(item, str) else item for item in listed(document, place)]
    if len(numbers) != len(variables) + 1 or not all(isinstance(item, Fraction) for item in numbers):
        raise Unreadable(f"line {place}: a row has a number for each variable, and a bound")
    if any(a and variable.sort not in ("real", "int") for a, variable in zip(numbers, variables, strict=False)):
        raise Unreadable(f"line {place}: a row speaks of numbers")
    return tuple(numbers[:-1]), numbers[-1]


def cell(item: Any, variable: Variable, place: int) -> Cell:
    if variable.sort == "bool" and isinstance(item, bool):
        return item
    if variable.sort == "enum" and item in variable.labels:
        return str(item)
    if variable.sort in ("real", "int") and not isinstance(item, bool):
        ends = item if isinstance(item, list) else [item, item]
        numbers = [number(end) if isinstance(end, str) else end for end in ends]
        if len(numbers) == 2 and isinstance(item, list) and variable.sort == "real":
            numbers = [infinite if end is None else end for end, infinite in zip(numbers, (-inf, inf), strict=True)]
        if len(numbers) == 2 and all(isinstance(end, Fraction | float) for end in numbers) and numbers[0] <= numbers[1]:
            is_integer = numbers[0] == numbers[1] and numbers[0].denominator == 1
            if variable.sort == "real" or is_integer:
                return numbers[0], numbers[1]
    raise Unreadable(f"line {place}: this is no value of {variable.name}")
