"""CONTRIBUTING tells the truth: the files that operators took, and recipes, followed in a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "vernal"
EVERY = ROOT / "tests" / "interpret" / "test_every_operator.py"


@pytest.mark.parametrize(
    ("begins", "mentions"),
    [
        ("These files took `log1p`:", r"\blog1p\b|\bLOG1P\b"),
        ("These files took `atan2`:", r"\b[Aa]tan2\b|\bangle_planes\b"),
    ],
    ids=["function", "node"],
)
def test_the_files_that_an_operator_takes(begins: str, mentions: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split(begins)[1].split("\n\n")[1]
    named = {name for row in table.splitlines() for name in re.findall(r"`([\w/]+\.py)`", row.split("|")[1])}
    touched = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if re.search(mentions, file.read_text(encoding="utf-8"))
    }
    assert named == touched


# Recipes --------------------------------------------------------------------------------------------------------------

BLOCK = re.compile(r'^```python title="(?P<file>[\w/.]+)"\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"# (?P<side>below|above): (?P<line>.+)\n")


def recipe(heading: str) -> list[tuple[str, str]]:
    """The blocks of code below a heading of CONTRIBUTING: a file of the package, and what is written there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [(block["file"], block["code"]) for block in BLOCK.finditer(section)]


def follow(heading: str, package: Path) -> None:
    """Do in a copy of the package what the blocks of a recipe say."""
    for name, code in recipe(heading):
        file, place = package / name, PLACE.match(code)
        if place is None:
            file.parent.mkdir(exist_ok=True)
            file.write_text(code, encoding="utf-8")
        else:
            file.write_text(with_block(file.read_text(encoding="utf-8"), place, code[place.end() :]), encoding="utf-8")


def with_block(text: str, place: re.Match[str], code: str) -> str:
    """A text with a block below, or above, the one line that begins as the place says."""
    begun = re.compile(rf"^[ ]*{re.escape(place['line'])}.*\n", re.MULTILINE)
    (found,) = begun.finditer(text)
    at = found.end() if place["side"] == "below" else found.start()
    return text[:at] + code + text[at:]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, which a recipe may change."""
    shutil.copytree(SOURCE, tmp_path / "src" / "vernal", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src" / "vernal"


def run(package: Path, *arguments: str) -> str:
    """What Python prints with a copy of the package in the place of this one."""
    environment = {**os.environ, "PYTHONPATH": f"{package.parent}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=package.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_function_is_added(copied: Path) -> None:
    """It has a meaning, or is refused as stated, in every interpretation."""
    follow("Adding an operator", copied)
    run(copied, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EVERY), "-k", "asinh", f"--rootdir={ROOT}")
    flow = (
        "vn.Flow(state={'x': vn.real(0, 2)}, init={'x': vn.interval(0, 1)}, rates=lambda s: {'x': 1 - vn.asinh(s.x)})"
    )
    said = run(copied, "-c", f"import vernal as vn; print(vn.check({flow}, 'G[0,0.5] x <= 1.5').verdict.value)")
    assert said == "holds\n"


def test_an_engine_is_added(copied: Path) -> None:
    follow("Adding an engine", copied)
    system = "vn.System(state={'x': vn.real()}, init={'x': vn.interval(-1, 1)}, step=lambda s: {'x': 0.5 * s.x})"
    asked = f"result = vn.check({system}, 'G[0,3] x <= 1', engine='look'); print(result.verdict.value, result.engine)"
    assert run(copied, "-c", f"import vernal as vn; {asked}") == "holds look\n"


def test_a_format_is_added(copied: Path, tmp_path: Path) -> None:
    follow("Adding a format", copied)
    (tmp_path / "policy.rows").write_text("1 2 0.5\n-1 0 0\n", encoding="utf-8")
    asked = f"net = vn.read_network({str(tmp_path / 'policy.rows')!r}); print(net.input_size, net.output_size)"
    assert run(copied, "-c", f"import vernal as vn; {asked}") == "2 2\n"
