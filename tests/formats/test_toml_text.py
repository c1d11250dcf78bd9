"""Every reader of TOML refuses what would take tomllib gigabytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from vernal.errors import VernalError
from vernal.formats.jani.planning_task import load_jani
from vernal.formats.networks import read_network
from vernal.formats.predicates import with_predicates
from vernal.formats.task.blueprint import load
from vernal.formats.toml_text import read_toml

LONG = "a." * 30_000 + "a = 1\n"
LIFT = Path(__file__).parents[2] / "examples" / "lift"


def test_keys_of_many_parts_are_refused_by_every_reader(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(LONG)
    lift = load_jani(LIFT / "lift.jani", constants={"top": 3}, start="true", unsafe="doors")
    with pytest.raises(VernalError, match="parts"):
        with_predicates(lift, str(file))
    with pytest.raises(VernalError, match="parts"):
        load_jani(LIFT / "lift.jani", policy=file, constants={"top": 3}, start="true", unsafe="doors")
    with pytest.raises(VernalError, match="parts"):
        load(file, {})


@pytest.mark.parametrize("content", [b"\xff", b"a = ", b"a = " + b"[" * 100_000, b"a = " + b"9" * 10_000])
def test_what_is_no_toml_is_one_message(content: bytes) -> None:
    with pytest.raises(VernalError, match="not a TOML file"):
        read_toml(content, "some.toml")


def test_a_name_that_no_file_can_have_is_no_network() -> None:
    with pytest.raises(VernalError, match="not from"):
        read_network("net.onnx" + ".a" * 2_000)
