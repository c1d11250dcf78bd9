"""The documentation is executed: every command shown with its output, every Python example.

In a `console` block a line that starts with `$` is run in the repository's root, and what follows is what it prints;
a line of three dots stands for any lines. A block with a title, such as ```toml title="room.toml", is a file that the
blocks of its page find. Seconds differ from run to run and count as equal. A `python` block is run as a module of its
own in this process, which spares it a second of imports. One that imports torch has a process to itself, since it
changes what all of torch shares; it is skipped, visibly, where there is no torch, and so is one that exports where
torch cannot.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from vernal.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*/README.md"))]
FENCE = re.compile(r"^```(\w+)(?: title=\"([\w.-]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORTS_TORCH = re.compile(r"^(import|from) (torch|stable_baselines3)\b", re.MULTILINE)
NEEDS = [
    (IMPORTS_TORCH, pytest.mark.torch),
    (
        re.compile(r"^from stable_baselines3\b", re.MULTILINE),
        pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="needs stable-baselines3"),
    ),
    (
        re.compile(r"^torch\.onnx\.export|# exports: ", re.MULTILINE),
        pytest.mark.skipif(find_spec("onnxscript") is None, reason="needs onnxscript, which torch's exporter wants"),
    ),
]
SECONDS = re.compile(r"\b\d+(\.\d+)? s\b")


def blocks(language: str) -> list[tuple[str, str]]:
    """Page and text of every fenced block in a language."""
    return [
        (f"{page.relative_to(ROOT)}:{page.read_text()[: found.start()].count(chr(10)) + 1}", found[3])
        for page in PAGES
        for found in FENCE.finditer(page.read_text())
        if found[1] == language
    ]


def titled(place: str) -> Iterator[tuple[str, str]]:
    """Name and text of every file that the page of a block shows."""
    page = ROOT / place.partition(":")[0]
    return ((found[2], found[3]) for found in FENCE.finditer(page.read_text()) if found[2])


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines it is said to print."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *printed = part.rstrip("\n").split("\n")
        yield command, printed


def run(command: str, shown: pytest.CaptureFixture[str]) -> str:
    """What a command prints; `vernal` runs in this process, which spares it a second of imports."""
    words = shlex.split(re.sub(r"\s#.*", "", command))  # `pa.jani#0` is no comment, to a shell
    if words[0] == "vernal":
        main(words[1:])
        said = shown.readouterr()
        return said.out + said.err
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def pattern(lines: list[str]) -> str:
    """The printed lines as a pattern: seconds are any number, three dots any lines."""
    parts = [r"(.*\n)*" if line.strip() == "..." else re.escape(_even(line)) + r"\n" for line in lines]
    return "".join(parts)


def _even(text: str) -> str:
    return SECONDS.sub("0 s", text.rstrip())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A place to run examples in, with the examples at hand and nothing written into the checkout.

    Commands that write the examples themselves, with `vernal example`, find none.
    """
    writes = "$ vernal example " in request.getfixturevalue("text")
    if not writes:
        (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, content in titled(request.getfixturevalue("place")):
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    return tmp_path


@pytest.mark.parametrize(("place", "text"), blocks("console"), ids=lambda value: str(value).split("\n")[0][:40])
@pytest.mark.usefixtures("folder")
def test_commands_print_what_the_page_shows(place: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command, printed in commands(text):
        said = "".join(f"{_even(line)}\n" for line in run(command, capsys).splitlines())
        wanted = pattern([line for line in printed if line.strip()])
        assert re.fullmatch(wanted, "".join(f"{line}\n" for line in said.splitlines() if line.strip())), (
            f"{place}: {command} printed\n{said}"
        )


def examples() -> list[Any]:
    """The python blocks, with the markers that skip them where torch does not import, or does not export."""
    return [
        pytest.param(place, text, id=place, marks=[mark for pattern, mark in NEEDS if pattern.search(text)])
        for place, text in blocks("python")
    ]


@pytest.fixture
def no_figures() -> Iterator[None]:
    """Figures that an example leaves open are closed after it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.mark.parametrize(("place", "text"), examples())
@pytest.mark.usefixtures("no_figures")
def test_python_examples_run(place: str, text: str, folder: Path) -> None:
    if IMPORTS_TORCH.search(text):
        done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{place}:\n{done.stderr}"
    else:
        exec(compile(text, place, "exec"), {"__name__": "__main__"})


def test_python_examples_have_types(tmp_path: Path) -> None:
    """What the pages show is accepted by mypy, strict as it is for Vernal; classes of torch have none to check."""
    pytest.importorskip("mypy")
    names: list[str] = []
    for place, text in blocks("python"):
        if not IMPORTS_TORCH.search(text):
            names.append(re.sub(r"\W", "_", place) + ".py")
            (tmp_path / names[-1]).write_text(text)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), *names]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


def test_no_page_needs_a_file_that_is_not_installed() -> None:
    for place, text in [*blocks("console"), *blocks("python")]:
        assert not re.search(r"\b(benchmarks|tests|scripts)/", text), f"{place} uses a file of the repository"


def test_pages_say_where_the_scripts_of_examples_are() -> None:
    """`vernal example` writes tasks and networks, not what made them."""
    for page in PAGES:
        text = page.read_text()
        if re.search(r"^from examples\.|python -m examples\.", text, re.MULTILINE):
            assert re.search("in a checkout", text, re.IGNORECASE), f"{page} uses a script that is not installed"


def test_there_is_documentation() -> None:
    assert len(blocks("console")) >= 3
    assert len(blocks("python")) >= 1
