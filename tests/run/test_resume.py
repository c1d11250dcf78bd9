"""Kill and resume: the same verdict, and nothing that was finished is done again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.portion import every, pairs
from tests.run.samples import corridor
from vernal.cli.main import main
from vernal.engines.check import ask
from vernal.engines.question_batches import known_together
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.run.executor import METHOD

VCAS = Path(__file__).parents[2] / "examples" / "vcas" / "vcas.toml"
COMPOSITIONAL = ("--engine", "milp", "--encoding", "compositional")
Said = pytest.CaptureFixture[str]


def start(*arguments: str | Path, command: str = "check") -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "vernal", command, *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition: Callable[[], object]) -> None:
    """Until something is so; a test that waits in vain fails."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("waited in vain")


def lines(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def keys(journal: Path) -> list[tuple[str, str]]:
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    return [(entry["formula"], entry["key"]) for entry in entries]


def answers(arguments: Sequence[str | Path], folder: Path) -> list[dict[str, Any]]:
    """The results of a run to the end."""
    output = folder / "results.json"
    assert main(["check", *map(str, arguments), "--json", str(output)]) in (0, 10)
    found: list[dict[str, Any]] = json.loads(output.read_text())["results"]
    return found


def children(process: int) -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("workers", every(2, ["2", "1"]))
def test_programs_that_were_solved_are_not_solved_again(tmp_path: Path, workers: str) -> None:
    task, journal = corridor(tmp_path), tmp_path / "j"
    asked: list[str | Path] = [task, *COMPOSITIONAL, "--workers", workers]
    (plain,) = answers(asked, tmp_path)
    run = start(*asked, "--journal", journal)
    wait_for(lambda: lines(journal) >= 10)
    run.kill()
    run.wait()
    finished = lines(journal)
    assert finished < plain["statistics"]["programs"] == 81
    (resumed,) = answers([*asked, "--journal", journal], tmp_path)
    assert resumed["verdict"] == plain["verdict"] == "holds"
    for answer in (plain, resumed):
        assert answer["statistics"].pop("solver_seconds") >= 0
    assert resumed["statistics"] == {**plain["statistics"], "from_journal": finished}
    assert len(set(keys(journal))) == len(keys(journal)) == 81


def test_a_killed_exploration_resumes(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    plainly: list[str | Path] = [VCAS, "--engine", "paths", "--spec", "AG[1,7] (h > 100 | h < -100)"]
    asked = [*plainly, "--journal", journal]
    run = start(*asked)
    wait_for(lambda: lines(journal) >= 1)
    run.kill()
    run.wait()
    finished = lines(journal)
    (resumed,) = answers(asked, tmp_path)
    (plain,) = answers(plainly, tmp_path)
    assert resumed["verdict"] == plain["verdict"] == "holds"
    assert resumed["margin"] == pytest.approx(plain["margin"], rel=1e-9)
    assert resumed["statistics"]["from_journal"] == finished
    assert len(set(keys(journal))) == len(keys(journal)) == resumed["statistics"]["parts"] == 4


@pytest.mark.parametrize("engine", [COMPOSITIONAL, ("--engine", "paths"), ("--engine", "auto")], ids=str)
def test_a_kill_at_any_moment_changes_no_verdict(tmp_path: Path, engine: tuple[str, ...]) -> None:
    asked: list[str | Path] = [VCAS, *engine, "--set", "k=3", "--workers", "2", "--journal", tmp_path / "j"]
    for patience in (0.4, 0.6):
        run = start(*asked)
        time.sleep(patience)
        run.kill()
        run.wait()
    assert [result["verdict"] for result in answers(asked, tmp_path)] == ["holds", "violated"]
    assert [result["verdict"] for result in answers(asked, tmp_path)] == ["holds", "violated"]


def test_a_counterexample_in_the_journal_is_replayed(tmp_path: Path, capsys: Said) -> None:
    for number, engine in enumerate((COMPOSITIONAL, ("--engine", "paths"))):
        journal = tmp_path / f"j{number}"
        asked = ["check", str(VCAS), "-p", "wide", *engine, "--journal", str(journal)]
        assert main(asked) == 10
        honest = journal.read_text()
        assert honest.count('"CL1500"') > 0
        journal.write_text(honest.replace('"CL1500"', '"COC"'))
        capsys.readouterr()
        assert main(asked) == 2
        assert "does not replay" in capsys.readouterr().err
        journal.write_text(honest)
        assert main(asked) == 10


def test_a_journal_of_another_question_is_bad_input(tmp_path: Path, capsys: Said) -> None:
    task, journal = corridor(tmp_path), tmp_path / "j"
    asked = ["check", str(task), *COMPOSITIONAL, "--set", "k=1", "--journal", str(journal)]
    assert main(asked) == 0
    capsys.readouterr()
    for more, said in (
        (["--set", "gap=2"], "another task"),
        (["--spec", "AX[2] (x > -1)"], "another formula"),
        (["--solver", "highs"], "solver=highs"),
    ):
        assert main([*asked, *more]) == 2
        assert said in capsys.readouterr().err
    task.write_text(task.read_text() + "\n")
    assert main(asked) == 2
    assert "another task" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
@pytest.mark.parametrize(
    ("signalled", "started"),
    pairs(
        2,
        [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
        [("fork", 4), ("spawn", 3)],  # a new process stays; one more is a helper
    ),
)
def test_workers_end_with_the_run(
    tmp_path: Path, signalled: tuple[int, int], started: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (number, code), (method, count) = signalled, started
    monkeypatch.setenv(METHOD, method)
    task = corridor(tmp_path)
    run = start(task, *COMPOSITIONAL, "--workers", "2", "--spec", "AX[9] !(x - y > gap & y - x > gap)")
    seen: set[int] = set()

    def some_were_seen() -> bool:
        seen.update(children(run.pid))
        return len(seen) >= count

    wait_for(some_were_seen)
    last = children(run.pid)
    os.kill(run.pid, number)
    assert run.wait() == code
    wait_for(lambda: not any(map(is_running, last)))


# Sweeps ---------------------------------------------------------------------------------------------------------------

GRID: list[str | Path] = [VCAS, "-p", "safe", "--over", "v0=-19.5,-22.5", "--over", "k=1..6"]


def rows(arguments: Sequence[str | Path], folder: Path) -> list[dict[str, Any]]:
    """The cells of a sweep to the end, without the time they took."""
    output = folder / "rows.json"
    assert main(["sweep", *map(str, arguments), "--json", str(output)]) == 0
    found: list[dict[str, Any]] = json.loads(output.read_text())["rows"]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in found]


def test_a_killed_sweep_resumes_cell_by_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "j"
    run = start(*GRID, "--journal", journal, command="sweep")
    wait_for(lambda: lines(journal) >= 3)
    run.kill()
    run.wait()
    finished = lines(journal)
    assert 3 <= finished < 12
    asked: list[Question] = []
    alone, together = ask, known_together

    def counted(task: Task, formula: Formula, *rest: Any) -> Any:
        asked.append(Question(task.system, formula))
        return alone(task, formula, *rest)

    def counted_together(questions: Sequence[Question], *rest: Any) -> Any:
        found = together(questions, *rest)
        asked.extend(questions[place] for place in found)
        return found

    monkeypatch.setattr("vernal.engines.check.ask", counted)
    monkeypatch.setattr("vernal.engines.question_batches.known_together", counted_together)
    resumed = rows([*GRID, "--journal", journal], tmp_path)
    assert len(asked) == 12 - finished
    assert len(set(keys(journal))) == len(keys(journal)) == 12
    assert list(map(verdict_of, resumed)) == list(map(verdict_of, rows(GRID, tmp_path)))


def verdict_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What two runs agree in: which cells are decided together, and so by which engine, depends on which are open."""
    return row["parameters"], row["formula"], row["verdict"], row["scope"]


def test_a_finished_sweep_gives_the_same_table(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["sweep", *map(str, GRID), "--journal", str(tmp_path / "j")]
    assert main(asked) == 0
    table = capsys.readouterr().out
    with open(tmp_path / "j", "ab") as file:
        file.write(b'{"journal":1,"task":"to')  # torn by a kill
    for name in ("check.ask", "question_batches.known_together"):
        monkeypatch.setattr(f"vernal.engines.{name}", lambda *arguments: pytest.fail("this cell was finished"))
    assert main(asked) == 0
    assert capsys.readouterr().out == table
    assert lines(tmp_path / "j") == 12


def test_a_sweep_over_more_values_goes_on(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    asked: list[str | Path] = [VCAS, "-p", "safe", "--journal", journal]
    assert [row["verdict"] for row in rows([*asked, "--over", "k=1..2"], tmp_path)] == ["holds"] * 2
    assert len(rows([*asked, "--over", "k=1..4"], tmp_path)) == 4
    assert lines(journal) == 4


def test_a_journal_of_another_sweep_is_bad_input(tmp_path: Path, capsys: Said) -> None:
    journal = str(tmp_path / "j")
    asked = ["sweep", str(VCAS), "-p", "safe", "--over", "k=1..2", "--journal", journal]
    assert main(asked) == 0
    capsys.readouterr()
    for more, said in (
        (["--set", "v0=-20"], "another task"),
        (["--over", "v0=-20"], "another task"),
        (["--engine", "bounds"], "a sweep by auto"),
    ):
        assert main([*asked, *more]) == 2
        assert said in capsys.readouterr().err
    assert main(["check", str(VCAS), "--journal", journal]) == 2


def test_a_violation_of_a_cell_is_replayed(tmp_path: Path, capsys: Said) -> None:
    journal = tmp_path / "j"
    asked = ["sweep", str(VCAS), "-p", "safe", "--over", "k=3", "--set", "v0=-22.5", "--journal", str(journal)]
    assert main(asked) == 0
    honest = journal.read_text()
    assert honest.count('"CL1500"') > 0
    journal.write_text(honest.replace('"CL1500"', '"COC"'))
    capsys.readouterr()
    assert main(asked) == 2
    assert "does not replay" in capsys.readouterr().err


def test_what_is_unknown_is_asked_again(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    asked: list[str | Path] = [VCAS, "-p", "safe", "--over", "k=3", "--journal", journal]
    assert main(["sweep", *map(str, asked), "--memory", "0.001"]) == 5
    assert lines(journal) == 0
    assert [row["verdict"] for row in rows(asked, tmp_path)] == ["holds"]
