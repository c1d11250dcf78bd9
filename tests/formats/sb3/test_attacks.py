"""Saved policies that were written to do harm: each is one short message that names types and no values."""

from __future__ import annotations

import json
import pickletools
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.formats.sb3.attacks import (
    KEEP,
    LIST,
    MODELS,
    PICKLES,
    activation,
    genuine,
    kept,
    model,
    nested,
    number,
    table,
    text,
    whole,
)
from tests.formats.sb3.attempt import attempts
from tests.portion import seeds
from vernal.cli import exits
from vernal.cli.main import main
from vernal.errors import FormatError, UnsupportedOperator
from vernal.formats.sb3.pickle_data import MAX_DEPTH, MAX_INSTRUCTIONS, Call, unpickled
from vernal.formats.sb3.saved_policy import parse_sb3

ROOT = Path(__file__).parents[3]
LONGEST = 200  # characters of a message
WATCHDOG = 240  # seconds, for all attacks: one of them that does not end is a failure
NAMES = [name for name, _ in attempts()]


@pytest.fixture(scope="module")
def ends() -> dict[str, tuple[str, str]]:
    """How each attack ended; those after one that ended the process, or never did, are missing."""
    command = [sys.executable, "-m", "tests.formats.sb3.attempt"]
    try:
        said = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=WATCHDOG, check=False).stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
    return {name: (kind, message) for name, kind, message in map(json.loads, said.splitlines())}


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_is_one_short_message(name: str, ends: dict[str, tuple[str, str]]) -> None:
    assert name in ends, f"the process ended, or was ended, after {list(ends)[-1:]}"
    kind, message = ends[name]
    assert kind in ("FormatError", "UnsupportedOperator"), message
    assert len(message) <= LONGEST
    assert "((" not in message


# What is still read ---------------------------------------------------------------------------------------------------


def test_depths_and_numbers_up_to_the_limits_are_read() -> None:
    assert isinstance(unpickled(whole(nested(MAX_DEPTH))), tuple)
    with pytest.raises(FormatError, match=f"more than {MAX_DEPTH} deep"):
        unpickled(whole(nested(MAX_DEPTH + 1)))
    assert unpickled(b"N0" * (MAX_INSTRUCTIONS // 2 - 1) + b"N.") is None
    with pytest.raises(FormatError, match="instructions"):
        unpickled(b"N0" * (MAX_INSTRUCTIONS // 2) + b"N.")


def test_what_holds_itself_is_read_and_not_followed() -> None:
    found = unpickled(whole(LIST + KEEP + kept(0) + b"a"))
    assert found[0] is found
    obj = unpickled(whole(b"ca\nb\n)R" + KEEP + table((text("self"), kept(0))) + b"b"))
    assert isinstance(obj, Call)
    assert obj.get("self") is obj


def test_sets_are_lists_and_keys_texts_and_numbers() -> None:
    assert unpickled(whole(b"\x8f(" + nested(3) + text("x") + b"\x90")) == [((((),),),), "x"]
    found = unpickled(whole(table((text("x"), b"N"), (number(7), b"N"), (b"G" + b"\0" * 8, b"N"))))
    assert found == {"x": None, 7: None, 0.0: None}


def test_a_class_from_a_notebook_is_refused_as_such() -> None:
    """Classes of one's own are pickled with all that they name, themselves included."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="comes with gymnasium")
    own: type = type("Own", (), {"__module__": "__main__", "again": lambda self: own})
    content = cloudpickle.dumps({"features_extractor_class": own})
    with pytest.raises(UnsupportedOperator, match="a class of its own"):
        parse_sb3(model({"policy_kwargs": content}), "policy")
    with pytest.raises(UnsupportedOperator, match=r"its activation \(.*\) is no class of torch"):
        parse_sb3(model({"policy_kwargs": cloudpickle.dumps({"activation_fn": own})}), "policy")


def test_messages_name_types() -> None:
    for found, words in ((nested(3), "a tuple"), (text("secret"), "a text"), (b"cos\nsystem\n", "os.system")):
        with pytest.raises(UnsupportedOperator) as caught:
            parse_sb3(activation(found), "policy")
        assert f"its activation ({words})" in str(caught.value)
        assert "secret" not in str(caught.value)


# Damage ---------------------------------------------------------------------------------------------------------------


def mutated(content: bytes, draw: random.Random) -> bytes:
    """The content with bytes changed, left out, doubled, or put in from another place."""
    made = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place, other = draw.randrange(len(made)), draw.randrange(len(made))
        length = draw.randint(1, 8)
        match draw.randrange(4):
            case 0:
                made[place] = draw.randrange(256)
            case 1:
                del made[place : place + min(length, len(made) - 1)]
            case 2:
                made[place:place] = made[other : other + length]
            case 3:
                made[place : place + 1] = bytes([draw.choice(CODES)])
    return bytes(made)


CODES = b"".join(code.code.encode("latin1") for code in pickletools.opcodes)


@pytest.mark.parametrize("seed", seeds(20))
def test_a_damaged_pickle_is_read_or_refused(seed: int) -> None:
    draw = random.Random(seed)
    for content in draw.choices(genuine(), k=25):
        with suppress(FormatError):  # any other error is a failure
            unpickled(mutated(content, draw))


@pytest.mark.parametrize("seed", seeds(20))
def test_a_model_with_a_damaged_pickle_is_read_or_refused(seed: int) -> None:
    draw = random.Random(seed)
    found = genuine()
    for place in ("policy_kwargs", "action_space", "observation_space"):
        with suppress(FormatError):
            parse_sb3(model({place: mutated(draw.choice(found), draw)}), "policy")
    with suppress(FormatError):
        parse_sb3(model(weights=mutated(draw.choice(found), draw)), "policy")


# As a user meets them -------------------------------------------------------------------------------------------------

TASK = """
vernal = 1
[state]
x = "real"
[init]
x = 0
[agents.a]
policy = "evil.zip"
observe = ["x", "x", "x", "x"]
act = "argmax"
[environment.next]
x = "x + a"
[properties]
safe = "G[0,3] x <= 9"
"""


@pytest.mark.parametrize("name", ["a deep tuple as a key", "a tuple of tuples as a key"])
@pytest.mark.parametrize("command", ["check", "convert", "normalise"])
def test_commands_end_with_exit_code_2(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = PICKLES[name]()
    good = command == "normalise"
    (tmp_path / "evil.zip").write_bytes((MODELS / "normalised.zip").read_bytes() if good else model(weights=content))
    (tmp_path / "evil.pkl").write_bytes(content)
    (tmp_path / "task.toml").write_text(TASK, encoding="utf-8")
    source, target = str(tmp_path / "evil.zip"), str(tmp_path / "out.onnx")
    arguments = {
        "check": ["check", str(tmp_path / "task.toml"), "--timeout", "2"],
        "convert": ["convert", source, target],
        "normalise": ["convert", source, target, "--normalise", str(tmp_path / "evil.pkl")],
    }
    assert main(arguments[command]) == exits.BAD_INPUT
    said = capsys.readouterr().err
    assert "evil." in said
    assert ("deep" if "deep" in name else "a tuple as a key") in said
    assert len(said) < 1000
