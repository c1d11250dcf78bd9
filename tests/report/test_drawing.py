"""Pictures within limits: all of one command share them, and what is left out says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.report import samples
from tests.report.test_html import Balance
from tests.run.test_budget import Hours
from vernal.errors import Stopped
from vernal.evidence.result import Result
from vernal.logic.formula import Always, Atom, Formula
from vernal.logic.task import Task
from vernal.model import build
from vernal.report import evidence_pictures
from vernal.report import page as report
from vernal.report.drawing import ALLOWANCE, MAX_DRAWING_SECONDS, MIN_SECONDS, Drawing
from vernal.report.page import Answered, report_page
from vernal.run.budget import Budget

WARM = Always(Atom(build.var("T") <= build.const(20)))


def pictures(clock: Hours, seconds: float, drawn: list[float]) -> Callable[[Budget], str]:
    """A picture that takes so long; it notes how much time it was given."""

    def draw(budget: Budget) -> str:
        drawn.append(budget.left)
        clock.now += seconds
        return "<svg></svg>"

    return draw


@pytest.mark.parametrize(("timeout", "over"), [(1.0, 0.0), (1.0, 7.0), (60.0, 0.0)])
def test_pictures_after_the_limit_share_one_allowance(timeout: float, over: float) -> None:
    clock, drawn = Hours(), list[float]()
    clock.now = timeout + over
    drawing = Drawing.after(Budget(timeout, memory=2.0, started=0.0, clock=clock))
    made = [drawing.picture(pictures(clock, 0.4, drawn)) for _ in range(20)]
    left = ALLOWANCE if not over else MIN_SECONDS
    assert len(drawn) == made.count("<svg></svg>") == -(-left // 0.4)
    assert made.count("<figcaption>Nothing is drawn: no time was left for it.</figcaption>") == 20 - len(drawn)
    assert drawing.remark == f", {20 - len(drawn)} pictures left out: no time was left for it"
    assert drawing.budget.memory == 2.0


def test_pictures_before_the_limit_have_a_few_seconds_each() -> None:
    clock, drawn = Hours(), list[float]()
    for timeout in (None, 1000.0):
        drawing = Drawing.after(Budget(timeout, started=0.0, clock=clock))
        assert [drawing.picture(pictures(clock, 4.0, drawn)) for _ in range(20)] == ["<svg></svg>"] * 20
        assert drawing.remark == ""
    assert drawn == pytest.approx([MAX_DRAWING_SECONDS] * 40)


def test_an_interrupt_ends_all_pictures_at_once() -> None:
    clock, drawn = Hours(), list[float]()
    drawing, interrupt = Drawing(), KeyboardInterrupt()

    def interrupted(_: Budget) -> str:
        raise interrupt

    makers = [pictures(clock, 1.0, drawn), interrupted, *[pictures(clock, 1.0, drawn)] * 18]
    made = [drawing.picture(make) for make in makers]
    assert len(drawn) == 1
    assert made.count("<figcaption>Nothing is drawn: interrupted.</figcaption>") == 19
    assert drawing.interrupt is interrupt
    assert Drawing.after(Budget(), interrupt).why_not(pictures(clock, 1.0, drawn)) == "interrupted"


def test_a_limit_that_one_picture_meets_is_its_reason() -> None:
    def large(_: Budget) -> str:
        raise Stopped("memory beyond 1 GiB")

    drawing = Drawing()
    assert drawing.picture(large) == "<figcaption>Nothing is drawn: memory beyond 1 GiB.</figcaption>"
    assert drawing.picture(lambda _: "<svg></svg>") == "<svg></svg>"


def test_evidence_is_drawn_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a page whose last result has a trace, and time for one picture."""
    clock, order = Hours(), list[str]()

    def draw(name: str) -> str:
        order.append(name)
        clock.now += 1
        return f"<svg>{name}</svg>"

    def sets(task: Task, formula: Formula, budget: Budget) -> str:
        return draw("sets")

    monkeypatch.setattr(evidence_pictures, "trace_svg", lambda trace, formula: draw("trace"))
    monkeypatch.setattr(report, "reach_figure", sets)
    results: list[Result] = [samples.unknown(), samples.holds(), samples.violated(4)]
    drawing = Drawing(Budget(0.5, started=0.0, clock=clock))
    text = report_page(samples.task(), [Answered(result, WARM) for result in results], None, drawing)
    assert order == ["trace"]
    assert text.count("Nothing is drawn: no time was left for it.") == len(drawing.missing) == 2
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
