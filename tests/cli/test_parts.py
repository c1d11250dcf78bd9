"""The small parts: exit codes, clocks, signals, progress, files."""

from __future__ import annotations

import os
import signal
import sys
import time
import weakref
from pathlib import Path

import pytest

from vernal.cli import exits
from vernal.cli.clock import process_start
from vernal.cli.interrupt import Terminated, exit_code, watching
from vernal.cli.options import overrides
from vernal.cli.progress import Live
from vernal.cli.stream import refuse_overwriting, writable
from vernal.errors import InputError
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED


def test_the_worst_verdict_decides() -> None:
    assert exits.of_verdicts([HOLDS]) == 0
    assert exits.of_verdicts([HOLDS, UNKNOWN]) == 5
    assert exits.of_verdicts([UNKNOWN, VIOLATED, HOLDS]) == 10
    assert exits.of_verdicts([]) == 0


def test_the_process_started_before_now_and_not_long_ago() -> None:
    age = time.monotonic() - process_start()
    assert 0 < age < 24 * 3600


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_both_signals_interrupt(number: signal.Signals, code: int) -> None:
    def interrupt() -> None:
        os.kill(os.getpid(), number)
        time.sleep(5)

    with watching(), pytest.raises(KeyboardInterrupt) as caught:
        interrupt()
    assert exit_code(caught.value) == code


def test_an_interrupt_in_a_destructor_is_not_lost() -> None:
    class Node:
        pass

    def interrupt() -> None:
        node = Node()
        _watch = weakref.ref(node, lambda _: os.kill(os.getpid(), signal.SIGTERM))
        del node  # the handler runs inside the callback, where exceptions are swallowed
        time.sleep(5)

    with watching(), pytest.raises(Terminated):
        interrupt()


@pytest.mark.parametrize("text", ["v0", "=3", "v0=", " = "])
def test_a_setting_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="NAME=EXPR"):
        overrides([text])


def test_settings_keep_what_comes_after_the_first_equals_sign() -> None:
    assert overrides(["v0=-22.5", " k = 2*3 ", "v0=1"]) == {"v0": "1", "k": "2*3"}


def test_outputs_are_refused_before_the_work(tmp_path: Path) -> None:
    writable(tmp_path / "new.json", "-", None)
    for bad in (tmp_path / "no" / "such.json", tmp_path):
        with pytest.raises(InputError, match="cannot write"):
            writable(bad)


def test_an_output_named_twice_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "out.json")
    with pytest.raises(InputError, match="named for two outputs"):
        writable(tmp_path / "out.json", link)
    writable("/dev/null", Path("/dev/null"))


def test_an_output_that_is_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("")
    (tmp_path / "link.toml").symlink_to(tmp_path / "task.toml")
    with pytest.raises(InputError, match=r"link\.toml is read by this command"):
        refuse_overwriting([tmp_path / "task.toml"], [None, "-", tmp_path / "link.toml"])
    refuse_overwriting([tmp_path / "task.toml"], ["-", tmp_path / "other.toml"])


class Terminal:
    """A stream that looks like a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True


def watch(monkeypatch: pytest.MonkeyPatch, patience: float, *, quiet: bool = False) -> str:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("vernal.cli.progress.DELAY", patience)
    monkeypatch.setenv("TERM", "xterm")
    with Live("safe", quiet=quiet) as live:
        live("bounds: 3 boxes", 0.5)
        deadline = time.monotonic() + 5
        while live.watched and patience < 1 and "3 boxes" not in terminal.text and time.monotonic() < deadline:
            time.sleep(0.02)
    return terminal.text


def test_a_bar_for_those_who_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = watch(monkeypatch, 0.01)
    assert "safe" in shown
    assert "bounds: 3 boxes" in shown


def test_no_bar_for_quick_work_nor_for_the_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch(monkeypatch, 60.0) == ""
    assert watch(monkeypatch, 0.01, quiet=True) == ""


def test_silence_in_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vernal.cli.progress.DELAY", 0.0)
    with Live("safe") as live:
        live("working", None)
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
