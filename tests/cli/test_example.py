"""`vernal example`: what is shipped is listed, written as it is, and never over something else."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from vernal.cli.main import main
from vernal.worlds.examples import shipped

ROOT = Path(__file__).resolve().parents[2]
Said = pytest.CaptureFixture[str]
WHEEL_BYTES = 3_000_000


def test_every_folder_of_examples_is_listed_in_one_line(capsys: Said) -> None:
    assert main(["example"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["example", "what", "it", "is"]
    folders = sorted(file.name for file in (ROOT / "examples").iterdir() if file.is_dir() and file.name[0] not in "._")
    assert [line.split()[0] for line in lines] == folders
    assert all(len(line.split()) > 2 and "#" not in line for line in lines)


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("examples/thermostat/thermostat.toml", "vernal example thermostat"),
        ("examples/lift/lift.jani", "vernal example lift"),
        ("examples/blocksworld/blocks.jani", "vernal example blocksworld"),
        ("my demos/vcas/vcas.toml", "vernal example vcas 'my demos'"),
    ],
)
def test_a_missing_example_names_the_command_that_writes_it(
    file: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", file]) == 2
    assert f"`{command}` writes it" in capsys.readouterr().err
    assert main(shlex.split(command)[1:]) == 0
    assert (tmp_path / file).is_file()


def test_other_missing_files_are_just_missing(capsys: Said) -> None:
    for file in ("thermostat.toml", "examples/thermostat/other.toml"):
        assert main(["check", file]) == 2
        assert "writes it" not in capsys.readouterr().err


@pytest.mark.parametrize("name", [example.name for example in shipped()])
def test_an_example_is_written_as_it_is(name: str, tmp_path: Path) -> None:
    assert main(["example", name, str(tmp_path / "demo")]) == 0
    written = sorted((tmp_path / "demo" / name).iterdir())
    assert {file.suffix for file in written}.isdisjoint({".py", ".json"})
    for file in written:
        source = (ROOT / "examples" / name / file.name).read_bytes()
        assert file.read_bytes() == source or file.name == "README.md"
    assert "](../" not in (tmp_path / "demo" / name / "README.md").read_text()


def test_a_written_example_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["example", "thermostat"]) == 0
    assert main(["check", "examples/thermostat/thermostat.toml", "--spec", "X[8] (T >= 17)", "--quiet"]) == 0
    assert "holds" in capsys.readouterr().out


def test_all_are_written_at_once(tmp_path: Path) -> None:
    assert main(["example", "all", str(tmp_path)]) == 0
    written = {file.name for file in tmp_path.iterdir()}
    assert written == {"task.schema.json", *(example.name for example in shipped())}


def test_nothing_of_yours_is_overwritten(tmp_path: Path, capsys: Said) -> None:
    mine = tmp_path / "lift" / "lift.jani"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert main(["example", "lift", str(tmp_path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert [file.name for file in mine.parent.iterdir()] == ["lift.jani"]
    assert mine.read_text() == "mine"
    assert main(["example", "lift", str(tmp_path), "--force"]) == 0
    assert mine.read_bytes() == (ROOT / "examples/lift/lift.jani").read_bytes()
    assert main(["example", "lift", str(tmp_path)]) == 0  # what is there is the example: nothing to refuse


def test_an_unknown_example_names_the_nearest(capsys: Said) -> None:
    assert main(["example", "vcass"]) == 2
    assert "did you mean 'vcas'?" in capsys.readouterr().err


def test_a_file_in_the_way_of_the_folder_is_one_message(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "lift").write_text("a file")
    assert main(["example", "lift", str(tmp_path)]) == 2
    assert "lift" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("hatchling") is None, reason="needs hatchling, which builds the wheel")
def test_the_wheel_has_the_examples_and_stays_small(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < WHEEL_BYTES
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    assert not list((tmp_path / "installed/vernal/examples").rglob("*.py"))
    (meta,) = (tmp_path / "installed").glob("*.dist-info/METADATA")
    described = meta.read_text().partition("\n\n")[2]
    assert "](docs/" not in described
    assert "](examples/" not in described  # a package index has no such files
    listed = subprocess.run(
        [sys.executable, "-m", "vernal", "example"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == [example.name for example in shipped()]
