"""Many files, one exit code; annotations and a summary for GitHub; the hook and the action run what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from vernal.plugins.task_files import main

ROOT = Path(__file__).parents[2]
TASK = """vernal = 1
[state]
x = "real"
[init]
x = 0
[environment.next]
x = "x + 1"
[properties]
low = "G[0,3] (x <= {limit})"
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "good": TASK.format(limit=5),
        "bad": TASK.format(limit=2),
        "broken": TASK.replace("[init]", "[inti]"),
        "foreign": "[tool.other]\nx = 1\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    return {name: str(tmp_path / f"{name}.toml") for name in texts}


def test_the_worst_file_counts(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([files["good"], files["foreign"]]) == 0
    assert "foreign" not in capsys.readouterr().out
    assert main([files["good"], files["bad"]]) == 10
    assert main([files["bad"], files["broken"]]) == 2
    assert main(["--read", files["good"], files["bad"]]) == 0
    assert main(["missing.toml"]) == 2


def test_nothing_to_check_is_no_success(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--github"]) == 2
    said = capsys.readouterr()
    assert "::warning::Vernal checked nothing: no file is named, or none matches" in said.out
    assert main([files["foreign"]]) == 0
    assert "nothing is checked: none of 1 files is a task" in capsys.readouterr().err


def test_unknown_may_be_allowed(files: dict[str, str]) -> None:
    assert main([files["bad"], "--timeout", "1e-6"]) == 5
    assert main([files["bad"], "--timeout", "1e-6", "--allow-unknown"]) == 0


def test_github_is_told_where(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert main(["--github", *files.values()]) == 2
    said = capsys.readouterr().out
    assert re.search(rf"^::error file={files['bad']}::violated  low: ", said, re.MULTILINE)
    assert re.search(rf"^::error file={files['broken']},line=4,col=\d+::.*inti", said, re.MULTILINE)
    summary = (tmp_path / "summary.md").read_text()
    assert f"| {files['good']} | low | holds | up to step 3 |" in summary
    assert f"| {files['broken']} | | cannot be read | |" in summary


def test_hook_and_action_run_this_module(files: dict[str, str]) -> None:
    entries = re.findall(r"^  entry: (.+)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    assert len(entries) == 2
    for entry in entries:
        assert entry.startswith("python -m vernal.plugins.task_files")
    words = [sys.executable, *entries[0].split()[1:], files["good"], files["foreign"]]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    run = (ROOT / "action.yml").read_text().split("run: |\n")[1]
    script = "\n".join(line.removeprefix("        ") for line in run.splitlines()).replace(
        "python ", f"{sys.executable} "
    )
    for allowed, code in (("true", 10), ("false", 10)):
        given = {"TASKS": f"{Path(files['bad']).parent}/[gb]*d.toml", "TIMEOUT": "9", "ALLOW_UNKNOWN": allowed}
        done = run_action(script, given)
        assert done.returncode == code, done.stderr
        assert "::error file=" in done.stdout
    none = run_action(script, {**given, "TASKS": "nowhere/*.toml"})
    assert (none.returncode, "::warning::Vernal checked nothing" in none.stdout) == (2, True)


def run_action(script: str, given: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", script]
    return subprocess.run(words, env={**_environment(), **given}, capture_output=True, text=True, check=False)


def _environment() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
