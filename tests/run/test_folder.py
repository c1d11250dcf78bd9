"""Folders of jobs: every sub-problem comes back once, whoever is lost, and what is not ours is refused."""

from __future__ import annotations

import json
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.run.test_executor import fail, meet_a_limit, square, squared
from vernal.errors import FormatError, InputError, Stopped
from vernal.queries.cells import FUNCTIONS
from vernal.run import job_folder, job_text
from vernal.run.budget import Budget
from vernal.run.executor import Finished
from vernal.run.folder_executor import FolderRun, serving
from vernal.run.folder_worker import FolderWorker
from vernal.run.job_folder import DONE, TAKEN, WAITING, JobFolder
from vernal.run.job_text import JobReader, name_of
from vernal.run.journal import Occasion
from vernal.run.worker import Job, Worked, named

SUBJECT = Occasion("a task", "an engine", None)
SHORT = 0.5  # seconds of a lease


def finally_squared(job: Job, budget: Budget) -> Worked:
    return Worked({**squared(job, budget).outcome, "final": True})


KINDS = [named(squared), named(finally_squared), named(fail), named(meet_a_limit)]


@contextmanager
def working(folder: Path, count: int = 1, worker: Callable[..., FolderWorker] = FolderWorker) -> Iterator[None]:
    """Workers in threads, as long as the block lasts; they end when the run has."""
    joined = JobFolder.join(folder)
    threads = [threading.Thread(target=worker(joined, KINDS, 20.0).go, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield
    joined.finish()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


def answers(run: FolderRun, jobs: list[Job], budget: Budget | None = None) -> dict[str, Finished]:
    with closing(run.run(jobs, budget or Budget(20))) as finished:
        return {one.key: one for one in finished}


@pytest.mark.parametrize("workers", [1, 3])
def test_every_subproblem_comes_back_once(workers: int, tmp_path: Path) -> None:
    with serving(tmp_path / "jobs", SUBJECT) as run, working(tmp_path / "jobs", workers):
        found = answers(run, [square(number) for number in range(50)])
    assert {key: one.outcome["square"] for key, one in found.items() if one.outcome} == {
        str(n): n * n for n in range(50)
    }
    assert not any((tmp_path / "jobs" / TAKEN).iterdir())


def test_what_a_lost_worker_has_taken_is_asked_again(tmp_path: Path) -> None:
    with serving(tmp_path, SUBJECT, lease=SHORT) as run:
        jobs = [square(number) for number in range(5)]
        with closing(run.run(jobs, Budget(20))) as finished:
            taken: list[str] = []

            def steal_then_work() -> None:  # one that takes everything, and is gone
                while len(taken) < 5:
                    taken.extend(name for name in run.folder.waiting() if run.folder.take(name, "gone"))
                FolderWorker(run.folder, KINDS, 20.0).go()

            thread = threading.Thread(target=steal_then_work, daemon=True)
            thread.start()
            assert sorted(one.key for one in finished if one.outcome is not None) == list("01234")
        run.folder.finish()
        thread.join(20)


def test_a_torn_line_is_not_believed(tmp_path: Path) -> None:
    with serving(tmp_path, SUBJECT, lease=SHORT) as run:
        name = name_of("3")
        line = json.dumps({"job": name, "kind": "done", "said": {"square": -1, "final": True}, "seconds": 0})
        (tmp_path / DONE / "torn").write_text(line)  # without its end
        (tmp_path / DONE / "odd").write_bytes(b"\x80\x04 no line\n[]\n{}\n" + b"[" * 100_000 + b"\n")
        with working(tmp_path):
            found = answers(run, [square(3)])
    assert found["3"].outcome is not None
    assert found["3"].outcome["square"] == 9


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    """What is final is not asked again; what is not, is."""
    jobs = [Job(str(n), named(finally_squared if n % 2 else squared), None, n) for n in range(6)]
    for expected in (6, 3):
        with serving(tmp_path, SUBJECT) as run:
            before = sum(len(file.read_bytes().splitlines()) for file, _ in run.folder.results())
            with working(tmp_path):
                assert len(answers(run, jobs)) == 6
            after = sum(len(file.read_bytes().splitlines()) for file, _ in run.folder.results())
        assert after - before == expected


def test_limits_and_faults_of_workers_are_those_of_the_run(tmp_path: Path) -> None:
    with serving(tmp_path / "a", SUBJECT) as run, working(tmp_path / "a"), pytest.raises(Stopped, match="enough"):
        answers(run, [Job("a", named(meet_a_limit), None)])
    fault = pytest.raises(RuntimeError, match=r"'a' failed(.|\n)*KeyError: 'oh'")
    with serving(tmp_path / "b", SUBJECT) as run, working(tmp_path / "b"), fault:
        answers(run, [Job("a", named(fail), None)])
    with serving(tmp_path / "c", SUBJECT) as run, pytest.raises(Stopped, match="timeout"):
        answers(run, [square(1)], Budget(0.05))


def test_other_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path / "jobs", SUBJECT):
        pass
    with (
        pytest.raises(InputError, match="belongs to another task"),
        serving(tmp_path / "jobs", Occasion("b", "e", None)),
    ):
        pass
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(InputError, match="holds other files"), serving(tmp_path / "full", SUBJECT):
        pass
    with pytest.raises(InputError, match="is no folder of jobs"):
        JobFolder.join(tmp_path / "full")
    monkeypatch.setattr(job_folder, "version", lambda: "9.9")
    with pytest.raises(InputError, match=r"and this is 9\.9"):
        JobFolder.join(tmp_path / "jobs")


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def forged(changes: dict[str, Any]) -> bytes:
    said = json.loads(job_text.job_text(square(3)))
    data = changes.pop("data", said["data"])
    said |= {"data": data, "sha256": job_text._hash(data), **changes}
    return json.dumps(said).encode()


def rows(*rows: list[Any]) -> list[Any]:
    return [list(rows), ["row", 0]]


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"sha256": "0" * 64}, "hash"),
    ({"version": "0.0.1"}, "written by Vernal 0.0.1"),
    ({"key": "4"}, "name is not that of its key"),
    ({"more": 1}, "no sub-problem of Vernal"),
    ({"data": rows(["run.journal:Journal", "/etc/passwd", None, {}])}, "no part of a sub-problem"),
    ({"data": rows(["os:system", "true"])}, "no part of a sub-problem"),
    ({"data": rows(["model.../../os:system", "true"])}, "no flattened data"),
    ({"data": rows(["model.expr:__builtins__"])}, "no flattened data"),
    ({"data": [[], "text"]}, "no sub-problem"),
    ({"data": "text"}, "no data"),
    (
        {"data": rows(["run.worker:Job", "3", "os:system", None, None, ["dict"], None])},
        "no flattened data|nothing that workers do",
    ),
]


@pytest.mark.parametrize(("changes", "words"), HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_hostile_texts_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        JobReader(KINDS).read(forged(dict(changes)), name_of("3"))


def test_only_what_workers_do_is_done(tmp_path: Path) -> None:
    text = job_text.job_text(square(3))
    assert JobReader(KINDS).read(text, name_of("3")).part == 3
    with pytest.raises(FormatError, match="nothing that workers do"):
        JobReader(FUNCTIONS).read(text, name_of("3"))
    with pytest.raises(FormatError, match="no JSON"):
        JobReader(KINDS).read(pickle.dumps(Trap(tmp_path / "mark")))
    assert not (tmp_path / "mark").exists()


def test_a_hostile_file_stops_no_worker(tmp_path: Path) -> None:
    with serving(tmp_path, SUBJECT) as run:
        for number, content in enumerate(
            [b"", pickle.dumps(Trap(tmp_path / "mark")), b"[" * 100_000, forged({"key": "5"})]
        ):
            (tmp_path / WAITING / f"hostile{number}").write_bytes(content)
        (tmp_path / WAITING / "link").symlink_to("/etc/hostname")
        os.mkfifo(tmp_path / WAITING / "pipe")
        with working(tmp_path):
            assert answers(run, [square(2)])["2"].outcome is not None
            until = time.monotonic() + 20
            while run.folder.waiting() and time.monotonic() < until:
                time.sleep(0.01)
    said = [json.loads(line) for file, _ in run.folder.results() for line in file.read_text().splitlines()]
    assert sum(one["kind"] == "refused" for one in said) == 6
    assert not (tmp_path / "mark").exists()


def test_what_everyone_refuses_ends_the_run(tmp_path: Path) -> None:
    refusal = pytest.raises(InputError, match="refuse a sub-problem again and again: it asks for")
    with serving(tmp_path, SUBJECT) as run, working(tmp_path), refusal:
        answers(run, [Job("a", named(working_nowhere), None)])


def working_nowhere(job: Job, budget: Budget) -> Worked:
    return Worked({})
