"""What a task file names lies below its folder: worlds, and the data of its networks; links are followed before."""

from __future__ import annotations

from pathlib import Path

import pytest

import vernal as vn
from tests.cli.samples import ROOM, room
from vernal.cli import exits
from vernal.cli.main import main
from vernal.errors import FormatError

TASK = """vernal = 1
world = "{}"
"""


def on_world(folder: Path, name: str) -> Path:
    inner = folder / "tasks"
    inner.mkdir()
    room(folder)
    file = inner / "task.toml"
    file.write_text(TASK.format(name))
    return file


@pytest.mark.parametrize("name", ["../room.toml", "{folder}/room.toml", "link.toml", "down/../../room.toml"])
def test_a_world_elsewhere_is_refused_unless_allowed(tmp_path: Path, name: str) -> None:
    file = on_world(tmp_path, name.format(folder=tmp_path))
    (file.parent / "down").mkdir()
    (file.parent / "link.toml").symlink_to(tmp_path / "room.toml")
    with pytest.raises(FormatError, match=r"task\.toml:2:9: .*outside the task's folder; --allow-outside"):
        vn.load(file)
    assert set(vn.load(file, allow_outside=True).properties) == {"mild", "cool"}


def test_a_world_below_is_read(tmp_path: Path) -> None:
    file = on_world(tmp_path, "worlds/room.toml")
    (file.parent / "worlds").mkdir()
    (file.parent / "worlds" / "room.toml").write_text(ROOM)
    assert set(vn.load(file).properties) == {"mild", "cool"}


def test_the_command_line_allows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = on_world(tmp_path, "../room.toml")
    trace = tmp_path / "tasks" / "t.json"
    ask = ["check", str(file), "--property", "cool", "--trace", str(trace)]
    assert main(ask) == exits.BAD_INPUT
    assert "--allow-outside" in capsys.readouterr().err
    assert main([*ask, "--allow-outside"]) == exits.REFUTED
    assert main(["replay", str(trace)]) == exits.BAD_INPUT
    assert main(["replay", str(trace), "--allow-outside"]) == exits.OK
    for command in (["simulate", str(file)], ["explain", str(file)], ["sweep", str(file), "--over", "k=1"]):
        assert main(command) == exits.BAD_INPUT
        assert main([*command, "--allow-outside"]) in (exits.OK, exits.REFUTED)
