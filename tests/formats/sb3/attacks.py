"""Hostile pickles and archives, written instruction by instruction: nothing here is ever loaded by Python's pickle."""

from __future__ import annotations

import base64
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

MODELS = Path(__file__).parent / "models"
PROTO, STOP, MARK, NONE = b"\x80\x04", b".", b"(", b"N"
TUPLE, TUPLE1, TUPLE2, TUPLE3 = b"t", b"\x85", b"\x86", b"\x87"
LIST, APPEND, APPENDS, SET, ADD, FROZEN = b"]", b"a", b"e", b"\x8f", b"\x90", b"\x91"
DICT, SETITEM, SETITEMS = b"}", b"s", b"u"
KEEP, NAMED, CALL, NEW_WITH_NAMES, BUILD, BESIDE, POP = b"\x94", b"\x93", b"R", b"\x92", b"b", b"Q", b"0"
FLOATS = b"ctorch\nFloatStorage\n"
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"
MANY = 300_000


def text(value: str) -> bytes:
    """A text, on the stack."""
    content = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(content)) + content


def number(value: int) -> bytes:
    """A number of up to four bytes."""
    return b"J" + struct.pack("<i", value)


def huge(size: int) -> bytes:
    """A number of so many bytes."""
    return b"\x8b" + struct.pack("<i", size) + b"\x7f" * size


def kept(place: int) -> bytes:
    """What was kept at a place, once more."""
    return b"j" + struct.pack("<I", place)


def tuple_of(*items: bytes) -> bytes:
    return MARK + b"".join(items) + TUPLE


def table(*items: tuple[bytes, bytes]) -> bytes:
    return DICT + b"".join(key + value + SETITEM for key, value in items)


def whole(content: bytes) -> bytes:
    return PROTO + content + STOP


def nested(depth: int, wrap: bytes = TUPLE1, first: bytes = b")") -> bytes:
    return first + wrap * depth


def doubled(times: int, join: bytes = TUPLE2) -> bytes:
    """t = (t, t), so many times: as many entries as it takes, and a tree of 2^times."""
    return b")" + KEEP + b"".join(kept(place) + join + KEEP for place in range(times))


def tensor(size: bytes, stride: bytes, offset: bytes = number(0), key: bytes = text("0")) -> bytes:
    storage = tuple_of(text("storage"), FLOATS, key, text("cpu"), number(4)) + BESIDE
    return REBUILD + tuple_of(storage, offset, size, stride, b"\x89", DICT) + CALL


def numpy_array(shape: bytes, order: bytes = b"\x89") -> bytes:
    kind = b"cnumpy\ndtype\n" + tuple_of(text("f4"), b"\x89", b"\x88") + CALL
    state = tuple_of(number(1), shape, kind, order, b"C\x04\0\0\0\0")
    return b"cnumpy.core.multiarray\n_reconstruct\n" + b")" + CALL + state + BUILD


# What a pickle may be as a whole -------------------------------------------------------------------------------------

PICKLES: Mapping[str, Callable[[], bytes]] = {
    "a deep tuple as a key": lambda: whole(table((nested(MANY), NONE))),
    "a tuple of tuples as a key": lambda: whole(table((doubled(40), NONE))),
    "a tuple of tuples as a key of a call": lambda: whole(b"ca\nb\n)R" + doubled(40) + NONE + SETITEM),
    "a deep tuple in a set": lambda: whole(SET + MARK + nested(MANY) + ADD),
    "a deep tuple in a frozen set": lambda: whole(MARK + nested(MANY) + FROZEN),
    "tuples of tuples in a frozen set": lambda: whole(MARK + doubled(40) + doubled(40) + FROZEN),
    "deep tuples": lambda: whole(nested(MANY)),
    "deep lists": lambda: whole(LIST * 50_000 + APPEND * 49_999),
    "deep tables": lambda: whole((DICT + text("x")) * 50_000 + NONE + SETITEM * 50_000),
    "deep calls": lambda: whole(b"ca\nb\n" * 1000 + b")" + (CALL + TUPLE1) * 999 + CALL),
    "deep states": lambda: whole(b"ca\nb\n)R" * 1000 + BUILD * 999),
    "long arguments, once and again": lambda: whole(
        tuple_of(NONE * 50_000) + KEEP + POP + (b"ca\nb\n" + kept(0) + CALL + POP) * 30_000 + NONE
    ),
    "places of one hash": lambda: whole(NONE + b"".join(b"p%d\n" % (turn * (2**61 - 1)) for turn in range(50_000))),
    "deep references": lambda: whole(nested(MANY, BESIDE)),
    "lists kept and filled again": lambda: whole(refilled(50_000)),
    "marks without ends": lambda: whole(MARK * MANY),
    "marks without ends below a value": lambda: whole(MARK * 400 + NONE),
    "a full stack": lambda: whole(NONE * MANY),
    "no end": lambda: PROTO + NONE,
    "an end of nothing": lambda: whole(b""),
    "more than one value": lambda: whole(NONE + NONE),
    "a long memory": lambda: whole(NONE + KEEP * MANY),
    "a very long number": lambda: whole(huge(5_000_000)),
    "a very long number as a key": lambda: whole(table((huge(5_000_000), NONE))),
    "a number in digits": lambda: whole(b"I" + b"7" * 100_000 + b"\n"),
    "digits that are none": lambda: whole(b"I" + b"x" * 100_000 + b"\n"),
    "a long name": lambda: whole(b"c" + b"a" * 1_000_000 + b"\nb\n"),
    "names of names": lambda: whole(text("a") + KEEP + b"".join(name_of(place) for place in range(60))),
    "names of tuples of tuples": lambda: whole(doubled(40) + KEEP + text("b") + NAMED),
    "a call of a tuple of tuples": lambda: whole(doubled(40) + b")" + CALL),
    "a call with a text for its arguments": lambda: whole(b"ca\nb\n" + text("x" * 100_000) + CALL),
    "a call with names that are none": lambda: whole(b"ca\nb\n)" + doubled(40) + NEW_WITH_NAMES),
    "state of a text": lambda: whole(text("x") + doubled(40) + BUILD),
    "items of a tuple of tuples": lambda: whole(doubled(40) + text("x") + NONE + SETITEM),
    "an item more": lambda: whole(DICT + MARK + text("x") + SETITEMS),
    "items of nothing": lambda: whole(SETITEM),
    "kept by nobody": lambda: whole(kept(7)),
    "keys of one hash": lambda: whole(DICT + MARK + b"".join(colliding(turn) for turn in range(20_000)) + SETITEMS),
    "long keys": lambda: whole(table((text("x" * 1_000_000), NONE))),
    "an instruction that runs": lambda: whole(b"(S'rm'\nios\nsystem\n"),
    "an unknown instruction": lambda: whole(b"\xfe"),
    "a length beyond its end": lambda: whole(b"X\xff\xff\xff\x7fab"),
}


def name_of(place: int) -> bytes:
    """The name of what was kept last, by what was kept last."""
    return kept(place) + NAMED + KEEP + kept(place + 1)


def refilled(count: int) -> bytes:
    """Lists, each of which is given the one before."""
    return LIST + KEEP + b"".join(LIST + KEEP + kept(place) + APPEND for place in range(count)) + POP * count


def colliding(turn: int) -> bytes:
    """A key, and a value: multiples of 2^61 - 1 all have the same hash."""
    content = ((turn + 1) * (2**61 - 1)).to_bytes(10, "little")
    return b"\x8a" + bytes([len(content)]) + content + NONE


# What they may be inside of a model -----------------------------------------------------------------------------------


def model(
    settings: Mapping[str, bytes] | None = None,
    weights: bytes | None = None,
    storages: Mapping[str, bytes] | None = None,
) -> bytes:
    """A saved policy with other pickles in its settings, or other weights."""
    said = told()
    for name, content in (settings or {}).items():
        said[name] = {":serialized:": base64.b64encode(content).decode()}
    policy = own_weights()
    if weights is not None:
        policy = archived({"archive/data.pkl": weights, "archive/data/0": b"\0" * 16, **(storages or {})})
    return archived({"data": json.dumps(said).encode(), "policy.pth": policy})


def archived(members: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def weights(*tensors: bytes) -> bytes:
    return whole(table(*((text(f"w{place}"), one) for place, one in enumerate(tensors))))


def activation(found: bytes) -> bytes:
    return model({"policy_kwargs": whole(table((text("activation_fn"), found)))})


def space(name: str, state: bytes) -> bytes:
    """A Box with a state."""
    return model({name: whole(b"cgymnasium.spaces.box\nBox\n)" + b"\x81" + state + BUILD)})


def bounds(found: bytes) -> bytes:
    return space("action_space", table((text("low"), found), (text("high"), found)))


MIB = 2**20
TENSORS: Mapping[str, Callable[[], bytes]] = {
    "strides of zero": lambda: tensor(tuple_of(number(30_000), number(30_000)), tuple_of(number(0), number(0))),
    "a stride of zero": lambda: tensor(tuple_of(number(3), number(3)), tuple_of(number(1), number(0))),
    "steps that overlap": lambda: tensor(tuple_of(number(3), number(2)), tuple_of(number(1), number(1))),
    "negative strides": lambda: tensor(tuple_of(number(4)), tuple_of(number(-1)), number(3)),
    "a negative size": lambda: tensor(tuple_of(number(-4)), tuple_of(number(1))),
    "a size beyond the storage": lambda: tensor(tuple_of(number(5)), tuple_of(number(1))),
    "a place beyond the storage": lambda: tensor(tuple_of(number(1)), tuple_of(number(1)), number(4)),
    "a negative place": lambda: tensor(tuple_of(number(1)), tuple_of(number(1)), number(-1)),
    "no numbers, in a huge shape": lambda: tensor(tuple_of(number(0), number(2**31 - 1)), tuple_of(NONE, NONE)),
    "huge sizes": lambda: tensor(tuple_of(*[b"\x8a\x08" + b"\x7f" * 8] * 8), tuple_of(*[number(0)] * 8)),
    "too many axes": lambda: tensor(tuple_of(*[number(1)] * 40), tuple_of(*[number(0)] * 40)),
    "sizes that are no numbers": lambda: tensor(tuple_of(text("x")), tuple_of(number(1))),
    "a size that is no tuple": lambda: tensor(number(4), number(1)),
    "a size that is a tuple of tuples": lambda: tensor(doubled(40), doubled(40)),
    "a storage that is not there": lambda: tensor(tuple_of(number(1)), tuple_of(number(1)), key=text("../7" * 9000)),
}
ARCHIVES: Mapping[str, Callable[[], bytes]] = {
    **{
        f"weights with {name}": lambda made=made: model(weights=weights(made()))  # type: ignore[misc]
        for name, made in TENSORS.items()
    },
    "one storage, read for many tensors": lambda: model(
        weights=weights(*[tensor(tuple_of(number(2**22)), tuple_of(number(1)))] * 400),
        storages={"archive/data/0": b"\0" * 2**24},
    ),
    "storages larger than they say": lambda: bomb(),
    "an activation that is a tuple of tuples": lambda: activation(doubled(40)),
    "an activation of a long name": lambda: activation(b"ctorch\n" + b"x" * 200_000 + b"\n"),
    "an activation that is deep": lambda: activation(nested(MANY)),
    "observations whose shape is a tuple of tuples": lambda: space(
        "observation_space", table((text("_shape"), doubled(40)))
    ),
    "bounds whose order is a tuple of tuples": lambda: bounds(
        b"cnumpy._core.numeric\n_frombuffer\n"
        + tuple_of(b"C\x04\0\0\0\0", NONE, tuple_of(number(1)), doubled(40))
        + CALL
    ),
    "bounds whose shape is a tuple of tuples": lambda: bounds(numpy_array(doubled(40))),
    "bounds of huge shape": lambda: bounds(numpy_array(tuple_of(*[huge(100)] * 8))),
    "settings of many lists": lambda: archived({"data": b"[" + b"[]," * 10_000_000 + b"0]", "policy.pth": b""}),
    "settings that are deep": lambda: archived({"data": b"[" * 1_000_000, "policy.pth": b""}),
    "a long number in the settings": lambda: archived({"data": b"7" * 100_000, "policy.pth": b""}),
    "settings beyond the limit": lambda: archived({"data": b" " * (65 * MIB), "policy.pth": b""}),
    "many members": lambda: archived({str(place): b"" for place in range(15_000)}, zipfile.ZIP_STORED),
    "another compression": lambda: archived({"data": b"{}", "policy.pth": b"0" * MIB}, zipfile.ZIP_BZIP2),
    "no archive": lambda: b"PK\x05\x06" + b"\0" * 12,
}


def bomb() -> bytes:
    """A member of 100 MiB that says it has 16 bytes."""
    inside = {"archive/data.pkl": weights(TENSORS["a size beyond the storage"]())}
    content = bytearray(archived({**inside, "archive/data/0": b"\0" * (100 * MIB)}))
    said = struct.pack("<I", 100 * MIB)
    while (place := content.find(said)) >= 0:
        content[place : place + 4] = struct.pack("<I", 16)
    return archived({"data": json.dumps(told()).encode(), "policy.pth": bytes(content)})


def own_weights() -> bytes:
    """The weights of that model."""
    with zipfile.ZipFile(MODELS / "ppo.zip") as archive:
        return archive.read("policy.pth")


def told() -> dict[str, object]:
    """The settings of a model."""
    with zipfile.ZipFile(MODELS / "ppo.zip") as archive:
        found: dict[str, object] = json.loads(archive.read("data"))
    return found


def genuine() -> list[bytes]:
    """Pickles as they are found in models, to damage."""
    found = [(MODELS / "normalised.pkl").read_bytes(), pickle.dumps({"a": [1, 2.5, None], "b": ({"c": "d"},)})]
    for file in sorted(MODELS.glob("*.zip")):
        with zipfile.ZipFile(file) as archive, zipfile.ZipFile(io.BytesIO(archive.read("policy.pth"))) as inner:
            settings = [one for one in json.loads(archive.read("data")).values() if ":serialized:" in (one or {})]
            found += [base64.b64decode(one[":serialized:"]) for one in settings]
            found += [inner.read(name) for name in inner.namelist() if name.endswith("data.pkl")]
    return found
