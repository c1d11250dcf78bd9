"""What Linux has and others lack is not needed: fork, alarms, masks of signals, limits of memory, /proc, threads.

Windows and macOS were never tried. These processes run with what is missing there, or in a browser, taken away.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.samples import room
from vernal.cli.interrupt import watching

WITHOUT = """
import multiprocessing, os, pathlib, signal, sys, time

for name in ("SIGALRM", "setitimer", "getitimer", "ITIMER_REAL", "pthread_sigmask", "SIG_BLOCK", "SIGKILL"):
    delattr(signal, name)
for name in ("fork", "forkpty", "sysconf", "register_at_fork"):
    delattr(os, name)
for name in ("resource", "fcntl"):
    sys.modules[name] = None
del time.CLOCK_BOOTTIME
read = pathlib.Path.read_text
def read_text(path, *given, **more):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(path)
    return read(path, *given, **more)
pathlib.Path.read_text = read_text
multiprocessing.get_all_start_methods = lambda: ["spawn"]
from vernal.cli.main import main
"""
NO_THREADS = """
import threading
def start(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start
"""
DONE = "\nif __name__ == '__main__':\n    raise SystemExit(main(sys.argv[1:]))\n"


def ran(folder: Path, *arguments: str, first: str = "") -> subprocess.CompletedProcess[str]:
    """A command where all of that is missing; new processes load this file again, as spawned ones do."""
    script = folder / "elsewhere.py"
    script.write_text(WITHOUT.replace("from vernal", f"{first}\nfrom vernal") + DONE, "utf-8")
    words = [sys.executable, str(script), *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=250, check=False)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--property", "mild", "--timeout", "100", "--memory", "4"], 0, "holds"),
        (["--property", "cool", "--timeout", "100"], 10, "violated"),
        (["--timeout", "1e-6"], 5, "timeout"),
    ],
)
def test_questions_are_answered(options: list[str], code: int, said: str, tmp_path: Path) -> None:
    done = ran(tmp_path, "check", room(tmp_path), *options)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_workers_are_new_processes(tmp_path: Path) -> None:
    done = ran(tmp_path, "check", room(tmp_path), "--property", "mild", "--engine", "bounds", "--workers", "2")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("engine", ["auto", "milp"])
def test_no_threads_are_needed(engine: str, tmp_path: Path) -> None:
    """As in a browser; auto begins with engines that could wait for each other, and milp asks a solver."""
    done = ran(tmp_path, "check", room(tmp_path), "--engine", engine, "--timeout", "100", first=NO_THREADS)
    assert done.returncode == 10, done.stderr
    assert done.stdout.startswith("holds")


IN_A_BROWSER = """
import json, pathlib, sys
import matplotlib, numpy, scipy.optimize  # they ask for the platform themselves
for name in ("highspy", "h5py"):
    sys.modules[name] = None
sys.platform = "emscripten"
def start(process):
    raise OSError("emscripten does not support processes")
multiprocessing.process.BaseProcess.start = start
from vernal.plugins.playground import answer
folder = pathlib.Path(sys.argv[1])
print(*(one["verdict"] for one in json.loads(answer((folder / "room.toml").read_text(), str(folder)))["answers"]))
"""


def test_the_page_answers_as_in_a_browser(tmp_path: Path) -> None:
    """Without threads, processes, alarms, /proc, and the packages that the page can do without."""
    task = Path(room(tmp_path))
    task.rename(tmp_path / "room.toml")
    script = tmp_path / "elsewhere.py"
    script.write_text(WITHOUT.replace("from vernal.cli.main import main\n", NO_THREADS) + IN_A_BROWSER, "utf-8")
    words = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    assert {"holds", "violated"} <= set(done.stdout.split())


def test_the_most_memory_there_was_is_told_in_the_units_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    from vernal.interpret.numbers import memory_room

    here = memory_room._most_gib()
    assert 0 < here < 1000
    monkeypatch.setattr(sys, "platform", "darwin")
    assert memory_room._most_gib() == pytest.approx(here / 1024, rel=0.5)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory_room._most_gib() == 0.0


def test_limits_that_a_system_refuses_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, where the size of a process has no limit."""
    from vernal.formats.keras.extract import limit

    kept = []

    def setrlimit(what: str, ends: tuple[int, int]) -> None:
        if what == "size":
            raise ValueError("current limit exceeds maximum limit")
        kept.append((what, ends))

    system = SimpleNamespace(RLIMIT_CPU="seconds", RLIMIT_AS="size", RLIMIT_CORE="core", setrlimit=setrlimit)
    monkeypatch.setitem(sys.modules, "resource", system)
    limit(seconds=5, memory=1000)
    assert kept == [("seconds", (5, 5)), ("core", (0, 0))]
    del system.RLIMIT_CPU, system.RLIMIT_CORE
    limit(seconds=5, memory=1000)


def test_a_lost_interrupt_is_sent_again_without_ending_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows `os.kill` ends a process, whatever the signal."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "kill")

    def lose() -> None:
        sys.unraisablehook(SimpleNamespace(exc_value=KeyboardInterrupt()))
        for _ in range(500):
            time.sleep(0.01)

    with watching(), pytest.raises(KeyboardInterrupt):
        lose()
