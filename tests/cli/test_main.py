"""The program as a whole: help, version, usage, and the promise that a traceback is never shown."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.samples import room
from vernal.cli import exits
from vernal.cli.commands import asked_for
from vernal.cli.interrupt import Terminated
from vernal.cli.main import application, main
from vernal.errors import MissingExtra

COMMANDS = (
    "check",
    "sweep",
    "map",
    "reach",
    "replay",
    "faults",
    "simulate",
    "explain",
    "compare",
    "draft",
    "convert",
    "solvers",
    "schema",
    "verify",
    "supports",
    "example",
    "work",
)
HEAVY = ("numpy", "scipy", "onnx", "h5py", "flint", "matplotlib", "lark", "msgspec", "rich", "highspy")


def test_help_names_every_command_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {command} " in text for command in COMMANDS)
    assert "vernal check vcas.toml" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"Usage: vernal {command}" in capsys.readouterr().out


def test_all_commands_are_registered() -> None:
    assert {command.name for command in application().registered_commands} == set(COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"0\.\d+\.\d+\n", capsys.readouterr().out)  # bare, as the VNN-LIB standard has it
    assert main(["--name"]) == 0
    assert capsys.readouterr().out == "Vernal\n"


@pytest.mark.parametrize(
    "arguments", [["frobnicate"], ["check"], ["check", "x.toml", "--frobnicate"], ["sweep", "x.toml"]]
)
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert "Usage: vernal" in said.err
    assert not said.out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, vernal.cli.main as m; code = m.main(['--help']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"


def test_the_version_is_said_at_once() -> None:
    code = "import sys, vernal.cli.start as s; sys.argv = ['vernal', '--version']; code = s.main();"
    code += "print([name for name in ('typer', 'numpy') if name in sys.modules], file=sys.stderr); sys.exit(code)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ran.stdout[:2], ran.stderr.strip()) == ("0.", "[]")


ELSEWHERE = (  # what a question about a network, decided by bounds, has no use for
    "scipy",
    "highspy",
    "matplotlib",
    "h5py",
    "lark",
    "z3",
    "vernal.cli.check",
    "vernal.cli.sweep",
    "vernal.engines.explicit.engine",
    "vernal.engines.falsify.engine",
    "vernal.engines.paths.engine",
    "vernal.engines.bounds.engine",
    "vernal.simulate.runs",
)


def test_a_small_query_loads_only_what_it_needs() -> None:
    """How soon the program starts is a matter of what it loads."""
    asked = ["verify", "examples/queries/freezing.vnnlib", "examples/thermostat/thermostat.onnx"]
    code = f"import sys, vernal.cli.main as m; code = m.main({asked!r});"
    code += f"print([name for name in {ELSEWHERE!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert (ran.stdout.strip(), ran.stderr.strip()) == ("unsat", "[]")


def test_a_command_loads_no_other() -> None:
    assert [entry.name for entry in application(asked_for(["replay", "x.json"])).registered_commands] == ["replay"]
    assert len(application(asked_for(["--help"])).registered_commands) == len(COMMANDS)


def test_the_package_runs_as_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "vernal", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("0.")


SOLVING = """
import random, sys, threading, time
import highspy
from vernal.cli.main import main

random.seed(0)
highs = highspy.Highs()
highs.setOptionValue("output_flag", False)
highs.setOptionValue("time_limit", 60.0)
chosen = [highs.addBinary() for _ in range(50)]
for _ in range(8):  # split eight markets evenly: nobody does that in a minute
    weights = [random.randint(0, 99) for _ in chosen]
    highs.addConstr(sum(w * x for w, x in zip(weights, chosen)) == sum(weights) // 2)
solving = threading.Thread(target=highs.run, daemon=True)
solving.start()
time.sleep(0.2)
assert solving.is_alive()
sys.argv = ["vernal", "--version"]
sys.exit(main())
"""


def test_a_solver_that_does_not_stop_changes_no_exit_code() -> None:
    """It would take the process down with SIGABRT when the interpreter ends."""
    ran = subprocess.run([sys.executable, "-c", SOLVING], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("0.")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MissingExtra("reading a torch module", "torch"), exits.BAD_INPUT, "pip install 'vernal[torch]'"),
        (PermissionError(13, "Permission denied", "secret.toml"), exits.BAD_INPUT, "secret.toml: Permission denied"),
        (MemoryError(), exits.UNDECIDED, "out of memory"),
        (ZeroDivisionError("deep inside"), exits.INTERNAL, "internal error, please report it"),
        (KeyboardInterrupt(), exits.INTERRUPTED, "interrupted"),
        (Terminated(), exits.TERMINATED, "interrupted"),
    ],
    ids=["extra", "permission", "memory", "fault", "ctrl-c", "terminated"],
)
def test_every_error_ends_in_one_message(
    error: BaseException,
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(import_module("vernal.formats.task.blueprint"), "open_task", fail)
    assert main(["explain", room(tmp_path)]) == code
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err + said.out


def test_a_traceback_for_those_who_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(import_module("vernal.formats.task.blueprint"), "open_task", fail)
    monkeypatch.setenv("VERNAL_DEBUG", "1")
    assert main(["explain", room(tmp_path)]) == exits.INTERNAL
    assert "Traceback" in capsys.readouterr().err


def test_signal_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.unraisablehook
    main(["--version"])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = f"{sys.executable} -m vernal schema | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert ran.stdout.strip() in {"0", str(exits.BROKEN_PIPE)}


def test_completion_is_offered(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    assert "--install-completion" in capsys.readouterr().out


def completing(line: str) -> dict[str, str]:
    """What a shell sets to ask how a line may go on."""
    return {"_VERNAL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}


def test_the_shell_completes_commands() -> None:
    command = [sys.executable, "-c", "import sys; from vernal.cli.main import main; sys.exit(main())"]
    words = {**os.environ, **completing("vernal s")}
    ran = subprocess.run(command, capture_output=True, text=True, env=words, check=True)
    assert set(ran.stdout.split()) == {"sweep", "simulate", "solvers", "schema", "supports"}


def test_the_shell_completes_engines_and_names_of_a_task(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def completed(line: str) -> set[str]:
        for name, value in completing(line).items():
            monkeypatch.setenv(name, value)
        assert main([]) == 0
        return set(capsys.readouterr().out.split())

    assert completed("vernal check room.toml --engine ") >= {"auto", "falsify", "bounds"}
    thermostat = "examples/thermostat/thermostat.toml"
    assert completed(f"vernal check {thermostat} --property ") == {"warm", "steady", "in_range"}
    assert completed(f"vernal explain {thermostat} -p st") == {"steady"}
    assert completed(f"vernal check {thermostat} --set ") == {"outside="}
    assert completed(f"vernal sweep {thermostat} --over out") == {"outside="}
    assert completed("vernal check no_such_file.toml --property ") == set()
