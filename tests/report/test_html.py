"""The report: one file, complete, well-formed, and not fooled by what it quotes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import vernal as vn
from tests.report import samples
from vernal.evidence.program_version import version
from vernal.evidence.result import EngineAttempt, Result
from vernal.report.html import Pictures, ReportOrigin, page
from vernal.report.plots import trace_svg
from vernal.report.slider import NOTHING, with_slider
from vernal.report.unknown_page import unknown_parts

VOID = {"meta", "br", "link", "img", "input"}


class Balance(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


ORIGIN = ReportOrigin(datetime(2026, 3, 4, 5, 6, tzinfo=UTC), "vernal check 'my room.toml' --spec 'T < 3'")


def words(result: Result) -> str | None:
    return "it is always at most twenty degrees" if result.property == "safe" else None


def shown(*results: Result) -> str:
    """The page of these results, each with a picture."""
    drawn = [Pictures(["<svg></svg>" if one.trace is None else trace_svg(one.trace)]) for one in results]
    return page(samples.task(), results, words, drawn, ORIGIN)


def test_the_page_is_well_formed_and_says_everything() -> None:
    text = shown(samples.violated(4), samples.holds(), samples.unknown())
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    assert {"svg", "table", "style"} <= balance.seen
    for said in (
        "G[0,25] T &lt;= 20",
        "<p>It is always at most twenty degrees.</p>",
        "timeout after 60 s",
        "0" * 64,
        "net.onnx",
        "1/3",
    ):
        assert said in text


def test_the_page_says_when_and_how_it_was_made() -> None:
    text = shown(samples.holds())
    assert f"2026-03-04 05:06 UTC, Vernal {version()}<br>" in text
    assert "<code>vernal check &#x27;my room.toml&#x27; --spec &#x27;T &lt; 3&#x27;</code>" in text


def test_long_tables_are_folded_short_ones_are_not() -> None:
    long = shown(samples.violated(26))
    assert "<details><summary>The trace in numbers, 26 positions</summary>" in long
    assert "details" not in tags(shown(replace(samples.violated(4), statistics={})))


def test_every_table_scrolls_in_its_place() -> None:
    text = shown(samples.violated(26), samples.holds())
    assert text.count("<table") == text.count('<div class="scroll"><table') > 0


def test_statistics_are_words_and_short_numbers() -> None:
    told = replace(samples.violated(4), statistics={"runs": 2000, "best_margin": -0.01895493181351532})
    text = shown(told)
    assert "<details><summary>Statistics</summary>" in text
    assert '<tr><td>best margin</td><td class="number">-0.0189549</td></tr>' in text
    assert '<tr><td>runs</td><td class="number">2000</td></tr>' in text


def test_the_page_loads_nothing() -> None:
    text = shown(samples.violated(4))
    assert not {"script", "link", "img", "iframe"} & tags(text)
    assert 'src="' not in text


def test_markup_in_names_stays_text() -> None:
    evil = replace(samples.unknown(), property="<script>alert(1)</script>", notes=("<b>",))
    text = shown(evil)
    assert "script" not in tags(text)
    assert "b" not in tags(text)


def tags(text: str) -> set[str]:
    balance = Balance()
    balance.feed(text)
    return balance.seen


def test_engines_of_an_unknown_are_written_in_plain_characters() -> None:
    """What cannot be printed is escaped, a space that breaks no line among it."""
    tried = EngineAttempt("bounds", 6.4, "not finished")
    text = "".join(unknown_parts(replace(samples.unknown(), tried=(tried,))))
    assert "6.4 s" in text
    assert "\\x" not in text


def test_what_has_no_value_at_a_position_is_a_dash_beside_the_slider() -> None:
    system = vn.System(
        state={"x": vn.real()}, init={"x": 0}, step=lambda s: {"x": s.x + vn.between(0.5, 1)}, name="climb"
    )
    result = vn.check(system, "G[0,2] (x <= 0.4)", engine="falsify")
    assert result.trace is not None
    text = with_slider(result.trace, "", "")
    assert f"<output>{NOTHING}</output>" in text  # the draw at the last position
    assert "<output></output>" not in text
