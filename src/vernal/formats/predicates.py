"""Predicates from elsewhere than the task: none at all, or those of a file.

A file is TOML with `predicates = ["x <= 3", ...]`, or JSON with an array of JANI expressions, as planning models have.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vernal.errors import FormatError, TypeClash
from vernal.formats.jani.entries import read_json
from vernal.formats.jani.expressions import read_condition
from vernal.formats.networks import read_bytes
from vernal.formats.toml_text import read_toml
from vernal.logic.elaboration import Scope, expression
from vernal.logic.syntax import Source
from vernal.logic.task import Task
from vernal.model.components import arrays_of, index_ranges
from vernal.model.expr import Expr
from vernal.model.sorts import BOOL

AUTO, NONE = "auto", "none"
JSON = (".json", ".jani")
MAX_BYTES = 16 * 2**20


def with_predicates(task: Task, choice: str) -> Task:
    """The task with its own predicates (`auto`), without any (`none`), or with those of a file."""
    if choice == AUTO:
        return task
    return replace(task, predicates=() if choice == NONE else read_predicates(Path(choice), task))


def read_predicates(file: Path, task: Task) -> tuple[Expr, ...]:
    """The predicates of a file, over the state variables and constants of a task, each once."""
    state = task.system.state
    names: dict[str, Expr] = {**task.constants, **{variable.name: variable.var for variable in state}}
    arrays = arrays_of(state)
    if file.suffix.lower() in JSON:
        whole, _ = read_json(file)
        return tuple(dict.fromkeys(read_condition(item, {**arrays, **names}) for item in whole.items()))
    scope = Scope(names, arrays=arrays, ranges=index_ranges(state))
    return tuple(dict.fromkeys(_condition(text, file, scope) for text in _texts(file)))


def _texts(file: Path) -> list[str]:
    document = read_toml(read_bytes(file, MAX_BYTES), str(file))
    texts = document.get("predicates")
    if set(document) != {"predicates"} or not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        raise FormatError(f'{file}: a file of predicates says predicates = ["x <= 3", ...], and nothing else')
    return texts


def _condition(text: str, file: Path, scope: Scope) -> Expr:
    source = Source(text, str(file))
    found = expression(source, scope, BOOL)
    if found.shape:
        raise TypeClash(
            f"a predicate is one truth value, but this is a vector of {found.size}", place=source.place(0, 1)
        )
    return found
