"""Reading a task file takes time linear in its text, and can be stopped at any of its entries."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.work import calls_of
from vernal.cli import exits, options
from vernal.cli.main import main
from vernal.errors import InputError, ParseError, Stopped
from vernal.formats.task.blueprint import Blueprint, Override, open_task
from vernal.formats.task.names import in_order
from vernal.logic.parser import parse
from vernal.logic.task import Task

TASK = """vernal = 1
[state]
x = "real"
[init]
x = 0
[environment.let]
{lets}
[environment.next]
x = "x"
[properties]
p = "G[0,3] (x < 10)"
"""


def with_lets(folder: Path, *lets: str) -> Path:
    file = folder / "task.toml"
    file.write_text(TASK.format(lets="\n".join(lets)))
    return file


def problem_of(file: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_task(file).task({})
    return str(caught.value)


@pytest.mark.parametrize("key", ["{}", "[{}]", "[[{}]]"])
@pytest.mark.parametrize("part", ["a", '"a b"', "'a'"])
def test_a_key_of_very_many_parts_is_refused_before_it_is_read(
    tmp_path: Path, key: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "task.toml"
    line = key.format(" . ".join([part] * 200))
    file.write_text(f"vernal = 1\n{line}{' = 1' if line[0] != '[' else ''}\n")
    monkeypatch.setattr("tomllib.loads", lambda _: pytest.fail("tomllib was asked"))
    assert "task.toml:2:" in problem_of(file)
    assert "a key of more than 64 parts" in problem_of(file)


def test_dots_in_texts_are_no_keys(tmp_path: Path) -> None:
    long = " + ".join(["0.5"] * 300)
    task = open_task(with_lets(tmp_path, f"# {'a. ' * 50}", f'far = "{long}"')).task({})
    assert "far" in task.system.lets


def test_a_long_circle_is_one_short_message(tmp_path: Path) -> None:
    count = 300
    lets = (f'a{place} = "a{(place + 1) % count}"' for place in range(count))
    message = problem_of(with_lets(tmp_path, *lets))
    assert "a0 -> a1 -> a2 -> a3 -> ... (292 more) -> a296 -> a297 -> a298 -> a299 -> a0" in message
    assert len(message) < 300


def test_every_circle_of_its_own_is_reported(tmp_path: Path) -> None:
    message = problem_of(with_lets(tmp_path, 'a = "b"', 'b = "a + u"', 'u = "v"', 'v = "w"', 'w = "u"', 'z = "a + u"'))
    assert "a -> b -> a" in message
    assert "u -> v -> w -> u" in message


def test_definitions_come_after_what_they_need() -> None:
    order, circles = in_order(
        {"c": {"b"}, "b": {"a", "elsewhere"}, "a": set(), "p": {"q"}, "q": {"p"}, "r": {"p", "a"}}
    )
    assert order == ["a", "b", "c"]
    assert circles == [["p", "q"]]


def test_reading_can_be_stopped_at_every_entry(tmp_path: Path) -> None:
    file = with_lets(tmp_path, *(f'a{place} = "x + {place}"' for place in range(50)))
    calls = 0

    def tick() -> None:
        nonlocal calls
        calls += 1

    open_task(file, tick).task({})
    assert calls > 150  # every line, every definition parsed, every definition understood


def test_a_long_text_can_be_stopped() -> None:
    def stop() -> None:
        raise Stopped("enough")

    with pytest.raises(Stopped):
        parse(" + ".join(["x"] * 5000), stop)


def test_a_task_that_takes_too_long_to_read_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = with_lets(tmp_path, *(f'a{place} = "x + {place}"' for place in range(2000)))
    monkeypatch.setattr(options, "READING", 0.0)
    assert main(["check", str(file), "--timeout", "0.01"]) == exits.UNDECIDED
    assert "unknown: timeout after 0.01 s, before any question was asked" in capsys.readouterr().err


def test_a_cell_that_takes_too_long_to_read_ends_the_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = with_lets(tmp_path, *(f'a{place} = "x + {place}"' for place in range(2000)))
    file.write_text(file.read_text().replace("[state]", "[parameters]\nk = 1\n[state]"))
    monkeypatch.setattr(options, "READING", 0.0)
    assert main(["sweep", str(file), "--over", "k=1..3", "--timeout", "0.01"]) == exits.UNDECIDED
    assert "unknown: timeout after 0.01 s" in capsys.readouterr().err


def test_each_cell_of_a_sweep_has_its_own_time_to_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = with_lets(tmp_path, 'a = "x + k"')
    file.write_text(file.read_text().replace("[state]", "[parameters]\nk = 1\n[state]"))
    slow = Blueprint.task

    def task(self: Blueprint, overrides: Mapping[str, Override]) -> Task:
        time.sleep(0.15)
        return slow(self, overrides)

    monkeypatch.setattr(Blueprint, "task", task)
    assert main(["sweep", str(file), "--over", "k=1..20", "--timeout", "2"]) == exits.OK


@pytest.mark.parametrize(
    "lets",
    [
        [f'a{place} = "x + {place}"' for place in range(20_000)],
        [f'a = "{" + ".join(["x * 2"] * 40_000)}"'],
        [f'a = "choose({", ".join(map(str, range(60_000)))})"'],
    ],
    ids=["many texts", "one text", "options"],
)
def test_more_than_can_be_read_soon_is_refused_at_once(
    tmp_path: Path, lets: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vernal.logic.parser._grammar", lambda: pytest.fail("the grammar was asked"))
    message = problem_of(with_lets(tmp_path, *lets))
    assert "names, numbers and signs" in message
    assert "at most 100,000 are read" in message
    assert len(message) < 400


def test_an_enum_has_a_few_thousand_labels(tmp_path: Path) -> None:
    text = TASK.format(lets="").replace('"real"', f'"enum {{{", ".join(f"L{i}" for i in range(6000))}}}"')
    (tmp_path / "task.toml").write_text(text)
    message = problem_of(tmp_path / "task.toml")
    assert "this enum has 6,000 labels; at most 5,000 are read" in message
    assert len(message) < 2000


def test_a_large_match_is_read_in_linear_time(tmp_path: Path) -> None:
    def written(count: int, replaced: str = "") -> Path:
        labels = ", ".join(f"L{i}" for i in range(count))
        cases = replaced or ", ".join(f"L{i}: L{(i + 1) % count}" for i in range(count))
        lines = ["vernal = 1", "[state]", f'x = "enum {{{labels}}}"', "[init]", 'x = "L0"', "[environment.next]"]
        (tmp_path / "task.toml").write_text("\n".join([*lines, f'x = "match(x, {cases})"']))
        return tmp_path / "task.toml"

    def work(count: int) -> int:
        file = written(count)
        return calls_of(lambda: open_task(file).task({}))

    work(10)  # which reads the grammar
    assert work(1000) < 2.2 * work(500)
    written(2000, "L7: L8")
    assert "not exhaustive: L0, L1, L2, L3, L4, L5, L6, L8, L9, L10, L11, L12, ... not" in problem_of(
        tmp_path / "task.toml"
    )


def test_messages_are_no_longer_than_a_screen_needs(tmp_path: Path) -> None:
    many = problem_of(with_lets(tmp_path, *(f'a{place} = "nowhere{place}"' for place in range(3000))))
    assert "nowhere0" in many
    assert many.endswith("... and 2,950 more")
    assert len(many.splitlines()) < 200
    assert len(problem_of(with_lets(tmp_path, f'{"b" * 50_000} = "nowhere"', f'c = "{"d" * 50_000} + 1"'))) < 6000


def test_an_error_stays_an_error(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="1:7"):
        parse("x + y ,")
    assert "nowhere" in problem_of(with_lets(tmp_path, 'a = "nowhere"'))
