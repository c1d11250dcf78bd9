"""Journals: what was written comes back, a torn line does not, and nobody else's file is touched."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vernal.errors import InputError
from vernal.run.journal import HEAD, Journal, Occasion, task_digest

MINE = Occasion("a1", "paths", frozenset({"G p", "F q"}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A journal with two entries."""
    with Journal(tmp_path / "j", MINE) as journal:
        journal.add("G p", "one", {"n": 1})
        journal.add("F q", "one", {"n": 2})
    return tmp_path / "j"


def test_what_was_written_comes_back(file: Path) -> None:
    with Journal(file, MINE) as journal:
        assert journal.of("G p").get("one") == {"n": 1}
        assert journal.of("F q").get("one") == {"n": 2}
        assert journal.of("G p").get("two") is None


def test_every_torn_line_is_forgotten_and_written_over(file: Path) -> None:
    whole = file.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        file.write_bytes(whole[:end])
        with Journal(file, MINE) as journal:
            assert set(journal.outcomes) == {("G p", "one")}
            journal.add("F q", "one", {"n": 2})
        assert file.read_bytes() == whole


def test_zeros_after_a_loss_of_power_are_torn_too(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole + b"\0" * 100)
    Journal(file, MINE).close()
    assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(MINE, task="b2"), "another task"),
        (replace(MINE, engine="milp"), "about paths, not milp"),
        (replace(MINE, formulas=frozenset({"G p"})), "another formula: F q"),
    ],
)
def test_a_journal_of_something_else_is_refused(file: Path, other: Occasion, said: str) -> None:
    before = file.read_bytes()
    with pytest.raises(InputError, match=said):
        Journal(file, other)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"hello\n",
        b"\n",
        HEAD + b'"broken\n',
        HEAD + b'"task":"a1","engine":"paths","formula":"G p","key":"one"}\n',
        HEAD + b'"task":"a1","engine":"paths","formula":"G p","key":"one","outcome":[]}\n',
        b'{"journal":2}\n',
        b"\xff\xfe\n",
    ],
)
def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(InputError, match="journal"):
        Journal(tmp_path / "j", MINE)
    assert (tmp_path / "j").read_bytes() == content


def test_places_where_no_journal_can_be(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing" / "j", Path("/dev/null")):
        with pytest.raises(InputError, match=r"cannot be written|no file"):
            Journal(place, MINE)


def test_two_runs_do_not_share_a_journal(file: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from vernal.run.journal import Journal, Occasion\n"
        "Journal(Path(sys.argv[1]), Occasion('a1', 'paths', frozenset({'G p', 'F q'})))"
    )
    with Journal(file, MINE):
        done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True)
    assert "in use by another run" in done.stderr
    assert subprocess.run([sys.executable, "-c", code, str(file)]).returncode == 0


def test_two_threads_do_not_share_a_journal(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file)
    with Journal(file, MINE):
        for name in (file, link):
            with pytest.raises(InputError, match="in use by another run"):
                Journal(name, MINE)
    Journal(file, MINE).close()
    with pytest.raises(InputError):
        Journal(file, Occasion("elsewhere", "paths", None))
    Journal(file, MINE).close()  # what could not be opened is not in use


def test_tasks_differ_by_file_parameters_and_networks() -> None:
    digests = {
        task_digest("f", {"k": 1}, ["n"]),
        task_digest("g", {"k": 1}, ["n"]),
        task_digest("f", {"k": 2}, ["n"]),
        task_digest("f", {"k": 1}, ["m"]),
    }
    assert len(digests) == 4
    assert task_digest("f", {"k": 1, "j": 2}, []) == task_digest("f", {"j": 2, "k": 1}, [])
