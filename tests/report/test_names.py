"""Names are what a model has them to be: in every picture and page they stay texts, which XML can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vernal  # noqa: F401 - plugs the drawing in
from tests.engines.predicates.test_abstraction_data import handed_out
from tests.planning_answers import drawn
from tests.portion import every, pairs, some
from tests.report import flow_samples
from tests.report.test_html import ORIGIN, Balance
from vernal.engines.falsify.simulation import simulate
from vernal.engines.reach.sets import LabelSet, NumberBounds, ReachableSets, ReachedStep
from vernal.errors import InputError
from vernal.evidence.result import VIOLATED, Result
from vernal.evidence.trace import Choice, Trace, TraceStep
from vernal.formats.spaceex.writer import spaceex_model
from vernal.logic.formula import Always, Atom, Bound
from vernal.logic.task import InputFile, Task
from vernal.model import build
from vernal.model.flow import Flow
from vernal.model.sorts import REAL, enum
from vernal.model.system import Init, OneOf, Span, Start, System, Variable
from vernal.printable import printable
from vernal.report.abstract_graph import dot, drawn_graph
from vernal.report.graph_svg import svg
from vernal.report.html import Pictures, page
from vernal.report.markup import MAX_LABEL, escape
from vernal.report.page import show_trace
from vernal.report.phase import plot_phase
from vernal.report.phase_parts import Portrait
from vernal.report.plots import plot_trace, trace_svg
from vernal.report.text import result_text
from vernal.report.tree import plot_tree
from vernal.report.tubes import plot_sets

CONTROL = "".join(map(chr, [*range(32), *range(127, 160)])) + "\u2028\u202e\ufeff\ufffe\uffff\ud800\udfff\U000e0001"
TEXTS = {
    "control": CONTROL,
    "formula": r"$x^2$ $\frac{$ $",
    "markup": "<b>&amp;]]><!-- \"'",
    "underscore": "_hidden",
    "tex": r"\input{/etc/passwd} %_^&#~",
    "other scripts": "\u4e2d\u6587 \u05d0 \u0e01 \U0001f600 \ue000",
    "long": "x" * 50_000,
    "lines": "a\nb",
}
SIGNS = st.one_of(st.characters(), st.sampled_from(CONTROL + "$\\{}^_%<>&\"'"))
ANY = st.text(SIGNS, min_size=1, max_size=12)


def room(name: str) -> Task:
    """A room whose everything is called so, with a number behind it."""
    mode = enum(f"{name}0", f"{name}1")
    t, m = build.var(f"{name}2", REAL), build.var(f"{name}3", mode)
    draught = build.choose(0, Fraction(-1, 8), name=f"{name}4")
    state = (Variable(f"{name}2", REAL), Variable(f"{name}3", mode))
    starts: dict[str, Start] = {f"{name}2": Span(Fraction(18), Fraction(19)), f"{name}3": OneOf((Fraction(0),))}
    gain = build.if_(build.compare("==", m, build.label(mode, f"{name}0")), 1, 0)
    after = {f"{name}2": t + gain + draught, f"{name}3": m}
    system = System(name, state, Init(starts), after, (), {f"{name}4": draught})
    formula = Always(Atom(build.compare("<=", t, 20)), Bound(Fraction(0), Fraction(3)))
    return Task(system, {f"{name}5": formula}, source=InputFile(f"{name}6", "0" * 64))


def path(task: Task, name: str) -> Trace:
    """Three positions of it."""
    steps = [
        TraceStep({f"{name}2": Fraction(18 + t), f"{name}3": Fraction(0)}, {}, {f"{name}4": Choice(0, Fraction(0))}, {})
        for t in range(3)
    ]
    return Trace((*steps[:2], replace(steps[2], choices={})), system=task.system)


def flow(name: str) -> Flow:
    x, y = build.var(f"{name}1", REAL), build.var(f"{name}2", REAL)
    rates = {f"{name}1": -y - x, f"{name}2": 3 * x - y}
    ends = {f"{name}1": "-1 1", f"{name}2": "-1 1"}
    return flow_samples.flow(name, rates, ends, {f"{name}1": "0.4 0.5", f"{name}2": "-0.6 -0.5"})


def result(task: Task, name: str) -> Result:
    return Result(f"G {name}", VIOLATED, "paths", name, evidence=path(task, name), step=2, notes=(name,))


def sets(name: str) -> ReachableSets:
    mode = enum(f"{name}0", f"{name}1")
    step = ReachedStep((NumberBounds(0, 1), LabelSet(mode.labels)))
    return ReachableSets((f"{name}2", f"{name}3"), (REAL, mode), (step, step), 1)


def system(name: str) -> System:
    found = room(name).system
    assert isinstance(found, System)
    return found


PICTURES: dict[str, Callable[[str, Path], object]] = {
    "trace": lambda name, file: plot_trace(path(room(name), name), file),
    "runs": lambda name, file: simulate(room(name), 3, 2).plot(file),
    "sets": lambda name, file: plot_sets(sets(name), file, runs=0),
    "tree": lambda name, file: plot_tree(system(name), next(iter(room(name).properties.values())), 1, file),
    "portrait": lambda name, file: plot_phase(Portrait(flow(name)), file),
    "graph": lambda name, file: file.write_text(svg(drawn_graph(handed_out(drawn(1200)), name)), encoding="utf-8"),
    "spaceex": lambda name, file: file.write_text(automaton(name), encoding="utf-8"),
}


def automaton(name: str) -> str:
    """A model of SpaceEx, whose locations are called so."""
    found = flow_samples.abstraction(flow_samples.jet(), 2).automaton
    assert found is not None
    named = [replace(location, name=f"{name}{place}") for place, location in enumerate(found.locations)]
    return spaceex_model(replace(found, name=name, locations=tuple(named)))


def drawn_texts(file: Path) -> list[str]:
    """Every text of a picture that is XML."""
    root = ElementTree.fromstring(file.read_bytes())
    return [text for element in root.iter() for text in (element.text, *element.attrib.values()) if text]


@pytest.mark.parametrize(("picture", "text"), pairs(3, PICTURES, TEXTS))
def test_a_picture_is_xml_whatever_the_names_are(picture: str, text: str, tmp_path: Path) -> None:
    """Warnings are errors here: neither signs without a glyph nor labels that begin with _ make any."""
    file = tmp_path / "drawn.svg"
    PICTURES[picture](TEXTS[text], file)
    found = drawn_texts(file)
    assert all(printable(one) == one or not one.strip() for one in found)
    if picture in ("trace", "runs", "tree") and text in ("formula", "underscore", "tex", "markup"):
        assert sum(TEXTS[text] in one for one in found) >= 2  # as it is: no formula, no command, nothing left out
    if picture not in ("graph", "spaceex") and text == "long":
        assert all(len(line) <= MAX_LABEL + 20 for one in found for line in one.split("\n") if "xxxxx" in line)


@pytest.mark.parametrize(("text", "kind"), [("control", "png"), ("long", "png"), ("formula", "pdf"), ("long", "pdf")])
def test_other_pictures_are_drawn_and_not_huge(text: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"drawn.{kind}"
    plot_trace(path(room(TEXTS[text]), TEXTS[text]), file)
    assert file.stat().st_size < 500_000


def test_no_picture_is_made_by_tex(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ending in"):
        plot_trace(path(room("x"), "x"), tmp_path / "drawn.pgf")


@settings(max_examples=some(10))
@given(ANY)
def test_any_name_can_be_drawn(name: str) -> None:
    ElementTree.fromstring(trace_svg(path(room(name), name)))


@settings(max_examples=some(500))
@given(ANY)
def test_any_text_stands_in_markup(text: str) -> None:
    element = ElementTree.fromstring(f'<a b="{escape(text)}">{escape(text)}</a>')
    assert element.text == printable(text)


@pytest.mark.parametrize("text", every(2, list(TEXTS)))
def test_pages_hold_what_can_be_shown(text: str) -> None:
    name = TEXTS[text]
    task = room(name)
    pictures = Pictures([trace_svg(path(task, name))])
    made = page(task, [result(task, name)], lambda _: name, [pictures], replace(ORIGIN, command=name))
    balance = Balance()
    balance.feed(made)
    assert balance.open == []
    for shown in (made, show_trace(path(task, name)), result_text(result(task, name))):
        assert printable(shown) == shown
        shown.encode("utf-8")


@pytest.mark.parametrize("text", TEXTS)
def test_graphs_for_dot_have_no_control_characters(text: str) -> None:
    made = dot(drawn_graph(handed_out(drawn(1200)), TEXTS[text]))
    assert printable(made) == made
