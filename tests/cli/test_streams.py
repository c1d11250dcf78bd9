"""Streams that are closed, full or broken, hostile content on a terminal, and inputs named as outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.samples import ROOM, room
from tests.portion import every
from vernal.cli import exits
from vernal.cli.main import main

VERNAL = [sys.executable, "-m", "vernal"]


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_leave_the_exit_code(tmp_path: Path, closed: str) -> None:
    ran = shell(f"{sys.executable} -m vernal check {room(tmp_path)} --property cool {closed}")
    assert ran.returncode == exits.REFUTED
    assert "internal error" not in ran.stdout + ran.stderr


def unread(*command: str) -> subprocess.CompletedProcess[bytes]:
    """A command whose output goes to a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([*VERNAL, *command], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    return ran


def test_files_are_written_though_nobody_reads(tmp_path: Path) -> None:
    """And the exit code is that of the verdict."""
    trace, page, document = (str(tmp_path / name) for name in ("t.json", "r.html", "d.json"))
    files = ["--trace", trace, "--report", page, "--json", document]
    ran = unread("check", room(tmp_path), "--property", "cool", *files)
    assert ran.returncode == exits.REFUTED, ran.stderr
    assert all(Path(file).stat().st_size for file in (trace, page, document))


def test_a_reader_that_ends_is_a_broken_pipe(tmp_path: Path) -> None:
    ran = unread("check", room(tmp_path), "--property", "cool")
    assert ran.returncode == exits.BROKEN_PIPE
    assert ran.stderr == b""


def test_a_full_disk_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = tmp_path / "runs.pdf"
    link.symlink_to("/dev/full")
    assert main(["simulate", room(tmp_path), "--plot", str(link)]) == exits.BAD_INPUT
    assert f"cannot write {link}: No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check --json", "check --trace", "check --report", "simulate --csv"])
def test_an_input_is_not_overwritten(tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    task = room(tmp_path)
    name, option = command.split()
    assert main([name, task, option, task]) == exits.BAD_INPUT
    assert "is read by this command" in capsys.readouterr().err
    assert Path(task).read_text() == ROOM


def test_two_outputs_in_one_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = str(tmp_path / "out.json")
    assert main(["check", room(tmp_path), "--json", both, "--trace", both]) == exits.BAD_INPUT
    assert "named for two outputs" in capsys.readouterr().err
    assert not Path(both).exists()


def test_a_trace_file_cannot_pretend_to_be_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.json"
    assert main(["check", room(tmp_path), "--property", "cool", "--trace", str(file)]) == exits.REFUTED
    content = json.loads(file.read_text())
    content["formula"] = "\x1b[2K\raccepted  G[0,4] (T <= 20)\naccepted"
    file.write_text(json.dumps(content))
    capsys.readouterr()
    assert main(["replay", str(file)]) != exits.OK
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert not any(line.startswith("accepted") for line in said.out.splitlines())


def test_an_interrupt_while_modules_are_loaded_is_no_traceback() -> None:
    code = "import sys; sys.modules['typer'] = None\nimport vernal.cli.start as s, builtins\n"
    code += "real = builtins.__import__\n"
    code += "def slow(name, *a, **k):\n    if name.startswith('vernal.cli.main'): raise KeyboardInterrupt\n"
    code += "    return real(name, *a, **k)\nbuiltins.__import__ = slow\nsys.exit(s.main())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == exits.INTERRUPTED
    assert ran.stderr == "interrupted\n"


@pytest.mark.parametrize(
    "command",
    every(
        2,
        ["check --json -", "check", "explain", "reach --steps 2", "simulate --runs 2 --steps 2", "sweep --over k=1..2"],
    ),
)
def test_a_stream_that_knows_no_other_script_gets_escapes(tmp_path: Path, command: str) -> None:
    """Names are of any script; documents stay what they are."""
    task = tmp_path / "wärme.toml"
    task.write_text(ROOM.replace('name = "room"', 'name = "wärme→"'), encoding="utf-8")
    first, *rest = command.split()
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([*VERNAL, first, str(task), *rest], capture_output=True, env=environment, check=False)
    assert ran.returncode in (exits.OK, exits.REFUTED, exits.UNDECIDED), ran.stderr
    assert b"internal error" not in ran.stderr
    if "-" in rest:
        assert json.loads(ran.stdout)["task"]["name"] == "wärme→"
