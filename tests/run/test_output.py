"""Files are written whole or not at all, under a name nobody can foresee, in the mode of what they replace."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from vernal.errors import InputError
from vernal.run.output import write_bytes, write_file, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "out.json", "old")
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "out.json")
    write_text(link, "n\u00e9w")
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == "n\u00e9w"
    assert link.is_symlink()
    assert names(tmp_path) == ["link.json", "out.json"]


def test_what_fails_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    write_text(target, "old")

    def half(stream: BinaryIO) -> None:
        stream.write(b"ne")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"cannot write .*out\.csv: No space left on device"):
        write_file(target, half)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.csv"]


def test_the_mode_of_the_old_file_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    write_text(target, "old")
    target.chmod(0o640)
    write_bytes(target, b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_of_new_files(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_name_on_the_way_cannot_be_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []
    before = os.open

    def spy(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        opened.append((str(path), flags))
        return before(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", spy)
    write_text(tmp_path / "a", "")
    write_text(tmp_path / "a", "")
    ours = [(path, flags) for path, flags in opened if path.endswith(".part")]
    assert len({path for path, _ in ours}) == 2
    assert all(flags & os.O_EXCL and flags & os.O_CREAT for _, flags in ours)


def test_devices_are_written_directly(tmp_path: Path) -> None:
    write_text("/dev/null", "gone")
    with pytest.raises(InputError, match="cannot write"):
        write_text("/dev/full", "full")
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / "no" / "folder", "")
