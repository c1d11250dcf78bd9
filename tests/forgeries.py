"""Forged evidence: a genuine file, or none, changed so that it says something else, and signed with a hash that fits.

Each kind of forgery takes a file's content and makes another one, or None where it has nothing to do with such a file.
What is made is written as the package writes it, so that nothing but its sense can be wrong.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from tests.forged_tasks import Subject, any_path
from vernal.engines.check import parse_formula
from vernal.errors import VernalError
from vernal.evidence.evidence_file import document, fingerprint
from vernal.evidence.invariant import Invariant, StateSet
from vernal.evidence.invariant_file import component_names, invariant_json
from vernal.evidence.kinds import Evidence, Tree
from vernal.evidence.result import HOLDS, VIOLATED, Result, Verdict
from vernal.evidence.trace_file import to_json
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.task import Task

Content = dict[str, Any]
OTHER_VERDICT = {"holds": "violated", "violated": "holds"}
SENTENCES = (
    "every state that can be reached was enumerated",
    "bounds on all paths from this state exclude the claim",
    "",
    "believe me",
)


def signed(content: Mapping[str, Any]) -> Content:
    """The content with the hash that fits it."""
    return {**content, "sha256": fingerprint(content)}


def made_of(task: Task, formula: Formula | str, verdict: Verdict, evidence: Evidence) -> Content:
    """A file as the package writes it, for a result that no engine gave."""
    return document(task, Result(str(formula), verdict, "forged", evidence=evidence))


@dataclass(frozen=True)
class Workshop:
    """What a forger has: a task, a file about it, a file about another task, and chance."""

    rng: random.Random
    subject: Subject
    content: Content
    other: Content

    @property
    def task(self) -> Task:
        return self.subject.task

    @property
    def formula(self) -> Formula:
        return parse_formula(self.task, self.content["formula"])

    def either_verdict(self, content: Content) -> Content:
        """The content, now and then with the other verdict."""
        other = OTHER_VERDICT[content["verdict"]]
        return {**content, "verdict": other} if self.rng.random() < 0.5 else content


Forge = Callable[[Workshop], Content | None]


# What is claimed ------------------------------------------------------------------------------------------------------


def verdict_flipped(shop: Workshop) -> Content | None:
    return {**shop.content, "verdict": OTHER_VERDICT[shop.content["verdict"]]}


def formula_replaced(shop: Workshop) -> Content | None:
    """Another claim, with the same evidence."""
    return shop.either_verdict({**shop.content, "formula": str(shop.subject.formula(shop.rng))})


def formula_negated(shop: Workshop) -> Content | None:
    """The opposite claim with the other verdict, which is something else for claims of all paths; or the same one."""
    return shop.either_verdict({**shop.content, "formula": str(Not(shop.formula))})


def quantifiers_swapped(shop: Workshop) -> Content | None:
    """All for some, and some for all."""
    return shop.either_verdict({**shop.content, "formula": str(_swapped(shop.formula))})


def _swapped(formula: Formula) -> Formula:
    parts: dict[str, Any] = {}
    for entry in fields(formula):
        match getattr(formula, entry.name):
            case Formula() as inner:
                parts[entry.name] = _swapped(inner)
            case tuple() as inner:
                parts[entry.name] = tuple(map(_swapped, inner))
            case Quantifier() as quantifier:
                parts[entry.name] = quantifier.dual
    return replace(formula, **parts)


def parameters_changed(shop: Workshop) -> Content | None:
    task = copy.deepcopy(shop.content["task"])
    for name in task["parameters"]:
        task["parameters"][name] += shop.rng.choice((-2, -1, 1, 2))
    return shop.either_verdict({**shop.content, "task": task})


def task_exchanged(shop: Workshop) -> Content | None:
    """The evidence of another task."""
    head = {key: shop.content[key] for key in ("task", "formula", "property", "verdict")}
    return shop.either_verdict({**shop.other, **head})


# Paths ----------------------------------------------------------------------------------------------------------------


def kind_renamed(shop: Workshop) -> Content | None:
    """A path called a tree, or a tree called a path; with or without what was beside it."""
    if "trace" not in shop.content:
        return None
    made = {key: item for key, item in shop.content.items() if key != "invariant" or shop.rng.random() < 0.5}
    if shop.content["evidence"] == "tree":
        return shop.either_verdict({**made, "evidence": _kind(made), "excluded_by": None})
    return shop.either_verdict({**made, "evidence": "tree", "excluded_by": shop.rng.choice(SENTENCES)})


def _kind(content: Mapping[str, Any]) -> str:
    return "trace" if content["trace"]["loop"] is None else "lasso"


def sentence_replaced(shop: Workshop) -> Content | None:
    """A tree with the forger's sentence about what excludes other paths, and without an invariant that would."""
    if shop.content["evidence"] != "tree":
        return None
    made = {key: item for key, item in shop.content.items() if key != "invariant"}
    return {**made, "excluded_by": shop.rng.choice(SENTENCES)}


def path_replaced(shop: Workshop) -> Content | None:
    """Another path of the same system."""
    path = any_path(shop.rng, shop.task)
    if path is None or "trace" not in shop.content:
        return None
    made = {**shop.content, "trace": to_json(path, shop.task.system)}
    kind = "tree" if made["evidence"] == "tree" else path.kind
    return shop.either_verdict({**made, "evidence": kind})


def path_invented(shop: Workshop) -> Content | None:
    """Any path for any claim, as any kind of evidence."""
    path, formula = any_path(shop.rng, shop.task), shop.subject.formula(shop.rng)
    if path is None:
        return None
    evidence: Evidence = Tree(path, shop.rng.choice(SENTENCES)) if shop.rng.random() < 0.3 else path
    return made_of(shop.task, formula, shop.rng.choice((HOLDS, VIOLATED)), evidence)


def prefix_cut(shop: Workshop) -> Content | None:
    """The first positions only; the last of them leads nowhere, and so has no draws."""
    steps = shop.content.get("trace", {}).get("steps", ())
    if len(steps) < 2:
        return None
    kept = copy.deepcopy(list(steps[: shop.rng.randrange(1, len(steps))]))
    kept[-1] |= {"choices": {}, "disturbances": {}}
    made = {**shop.content, "trace": {"steps": kept, "loop": None}}
    return shop.either_verdict({**made, "evidence": "tree" if made["evidence"] == "tree" else "trace"})


def loop_moved(shop: Workshop) -> Content | None:
    """A lasso that returns elsewhere, or nowhere; a path that is said to be one."""
    if "trace" not in shop.content:
        return None
    trace = shop.content["trace"]
    others = [loop for loop in (None, *range(len(trace["steps"]))) if loop != trace["loop"]]
    made = {**shop.content, "trace": {**trace, "loop": shop.rng.choice(others)}}
    return shop.either_verdict({**made, "evidence": "tree" if made["evidence"] == "tree" else _kind(made)})


def value_changed(shop: Workshop) -> Content | None:
    """One state, draw or action is another."""
    if "trace" not in shop.content:
        return None
    made = copy.deepcopy(shop.content)
    inside, key = shop.rng.choice([leaf for leaf in _leaves(made["trace"]["steps"]) if leaf[1] != "time"])
    match inside[key]:
        case bool() as value:
            inside[key] = not value
        case int() | float() as value:
            inside[key] = value + shop.rng.choice((-1, 1, 0.5))
        case _:
            inside[key] = shop.rng.choice([leaf[0][leaf[1]] for leaf in _leaves(made["trace"]["steps"])])
    return shop.either_verdict(made)


def _leaves(item: Any) -> Iterator[tuple[Any, Any]]:
    """What holds a value, and under which key or place."""
    for key, inner in item.items() if isinstance(item, dict) else enumerate(item):
        if isinstance(inner, dict | list):
            yield from _leaves(inner)
        else:
            yield item, key


def pruned(shop: Workshop) -> Content | None:
    """An element of some list in the evidence is left out: a position, a set, a row, a branch."""
    made = copy.deepcopy(shop.content)
    lists = [found for key in made if key not in ("task", "tool") for found in _lists(made[key]) if found]
    if not lists:
        return None
    chosen = shop.rng.choice(lists)
    del chosen[shop.rng.randrange(len(chosen))]
    return shop.either_verdict(made)


def _lists(item: Any) -> Iterator[list[Any]]:
    if isinstance(item, list):
        yield item
    for inner in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
        yield from _lists(inner)


# Invariants -----------------------------------------------------------------------------------------------------------


def _with_invariant(shop: Workshop) -> Content | None:
    return copy.deepcopy(shop.content) if "invariant" in shop.content else None


def bounds_moved(shop: Workshop) -> Content | None:
    """Sets that are smaller, or larger."""
    made = _with_invariant(shop)
    sets = made and [one for one in _sets(made["invariant"]) if one["bounds"]]
    if not made or not sets:
        return None
    by = shop.rng.choice((Fraction(-1), Fraction(-1, 2), Fraction(1, 2), Fraction(1), Fraction(10)))
    for one in sets if shop.rng.random() < 0.5 else [shop.rng.choice(sets)]:
        one["bounds"] = [_written(Fraction(str(bound)) + by) for bound in one["bounds"]]
    return made


def _sets(invariant: Mapping[str, Any]) -> list[Any]:
    return [one for level in (*invariant["prefix"], invariant["sets"]) for one in level]


def _written(value: Fraction) -> int | str:
    return int(value) if value.denominator == 1 else str(value)


def rows_dropped(shop: Workshop) -> Content | None:
    """A side of a set is open."""
    made = _with_invariant(shop)
    sets = made and [one for one in _sets(made["invariant"]) if one["rows"]]
    if not made or not sets:
        return None
    one = shop.rng.choice(sets)
    place = shop.rng.randrange(len(one["rows"]))
    del one["rows"][place], one["bounds"][place]
    return made


def component_dropped(shop: Workshop) -> Content | None:
    """A variable may be anything."""
    made = _with_invariant(shop)
    if not made or not made["invariant"]["components"]:
        return None
    place = shop.rng.randrange(len(made["invariant"]["components"]))
    del made["invariant"]["components"][place]
    for one in _sets(made["invariant"]):
        for row in one["rows"]:
            del row[place]
    return made


def prefix_changed(shop: Workshop) -> Content | None:
    """Positions before the claim begins, added or left out."""
    made = _with_invariant(shop)
    if not made:
        return None
    invariant = made["invariant"]
    longer = [*invariant["prefix"], copy.deepcopy(invariant["sets"])]
    invariant["prefix"] = shop.rng.choice((longer, invariant["prefix"][1:]))
    return made


def invariant_invented(shop: Workshop) -> Content | None:
    """Sets from nothing: all states, none, or a box around some states; for any claim, or beside a state."""
    task, path = shop.task, any_path(shop.rng, shop.task)
    invented = Invariant(*_invented(shop), system=task.system)
    formula = shop.subject.formula(shop.rng)
    if path is None or shop.rng.random() < 0.6:
        return made_of(task, formula, HOLDS, invented)
    first = replace(path, steps=(replace(path.steps[0], choices={}, disturbances={}),), loop=None)
    return made_of(task, formula, VIOLATED, Tree(first, shop.rng.choice(SENTENCES), invented))


def _invented(shop: Workshop) -> tuple[tuple[str, ...], tuple[StateSet, ...]]:
    names = tuple(component_names(shop.task.system))
    match shop.rng.randrange(4):
        case 0:
            return names, (StateSet((), ()),)
        case 1:
            return names, ()
        case 2:
            return (), (StateSet((), ()),)
    signs = [(sign, place) for place in range(len(names)) for sign in (1, -1)]
    rows = tuple(tuple(Fraction(sign * (place == i)) for i in range(len(names))) for sign, place in signs)
    return names, (StateSet(rows, tuple(Fraction(shop.rng.randint(-1, 4)) for _ in rows)),)


def invariant_added(shop: Workshop) -> Content | None:
    """A path with an invented invariant beside it, as a tree has."""
    if "trace" not in shop.content:
        return None
    beside = {"evidence": "tree", "excluded_by": shop.rng.choice(SENTENCES)}
    return shop.either_verdict({**shop.content, **beside, "invariant": invariant_json(Invariant(*_invented(shop)))})


KINDS: dict[str, Forge] = {
    "verdict flipped": verdict_flipped,
    "formula replaced": formula_replaced,
    "formula negated": formula_negated,
    "quantifiers swapped": quantifiers_swapped,
    "parameters changed": parameters_changed,
    "evidence of another task": task_exchanged,
    "kind renamed": kind_renamed,
    "excluding sentence replaced": sentence_replaced,
    "path replaced": path_replaced,
    "path invented": path_invented,
    "prefix cut": prefix_cut,
    "loop moved": loop_moved,
    "value changed": value_changed,
    "element left out": pruned,
    "bounds of sets moved": bounds_moved,
    "rows of sets left out": rows_dropped,
    "component left out": component_dropped,
    "prefix of sets changed": prefix_changed,
    "invariant invented": invariant_invented,
    "invariant added": invariant_added,
}


def forged(shop: Workshop, kind: str, more: float = 0.2, kinds: Mapping[str, Forge] | None = None) -> Content | None:
    """A forgery of this kind, signed; now and then one of another kind follows. None where nothing changes."""
    known = kinds or KINDS
    made = known[kind](shop)
    if made is None:
        return None
    if shop.rng.random() < more:
        with suppress(VernalError, LookupError, TypeError, ValueError):  # what the first one left may be too little
            made = known[shop.rng.choice(list(known))](replace(shop, content=made)) or made
    done = signed(made)
    return None if json.dumps(done) == json.dumps(shop.content) else done


def distinct(contents: Sequence[Content]) -> list[Content]:
    """Files that say different things."""
    return list({content["sha256"]: content for content in contents}.values())
