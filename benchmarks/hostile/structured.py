"""Mutations that keep a file's outer form: JSON that is still JSON, archives whose checksums fit, hashes that fit.

Bytes changed at random seldom get further than the parser of the outer form; these do.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.hostile.mutate import HOSTILE, mutated
from vernal.evidence.evidence_file import fingerprint

Mutation = Callable[[bytes, random.Random], bytes]
LEAVES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 10**30, -(10**400), 2**63, 2**64),
    *("", "x", "1/0", "1/3", "9" * 60 + "/7", "1.0E+309", "1.0E+999999", "nan", "true", "[0, 1]", "a" * 5000),
    *([], {}, [[]], [0], {"op": "+"}, {"op": "¬", "exp": True}, {"lower": 1, "upper": 0}, [None] * 50),
]


def changed_json(content: bytes, chance: random.Random) -> bytes:
    """A JSON document after one to three changes of its parts; as it was, where they nest too deep to be written."""
    try:
        document = json.loads(content)
        for _ in range(chance.choice((1, 1, 2, 3))):
            document = _changed(document, chance)
        return json.dumps(document, ensure_ascii=chance.random() < 0.5).encode()
    except RecursionError:
        return content


def resigned(content: bytes, chance: random.Random) -> bytes:
    """An evidence file after changes of its parts, with the hash that fits them."""
    document = json.loads(changed_json(content, chance))
    if isinstance(document, dict):
        document["sha256"] = fingerprint(document)
    return json.dumps(document).encode()


def changed_lines(content: bytes, chance: random.Random) -> bytes:
    """A file of one JSON document a line: one of them changed, left out or doubled."""
    lines = content.splitlines()
    place = chance.randrange(len(lines))
    head, _, rest = lines[place].partition(b"{")
    if chance.random() < 0.7:
        lines[place] = head + changed_json(b"{" + rest, chance).replace(b'": ', b'":').replace(b', "', b',"')
    else:
        lines[place : place + 1] = chance.choice(([], [lines[place]] * 2))
    return b"\n".join([*lines, b""])


def changed_members(content: bytes, chance: random.Random) -> bytes:
    """An archive one of whose members, or one of the archives in it, is changed; packed anew, so that sums fit."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    name = chance.choice(list(members))
    members[name] = _changed_member(members[name], chance)
    if chance.random() < 0.1:
        members[chance.choice(("../outside", "/etc/x", name + "/", "\x1b[2K"))] = members.pop(name)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for own, data in members.items():
            archive.writestr(own, data)
    return made.getvalue()


def _changed_member(content: bytes, chance: random.Random) -> bytes:
    if zipfile.is_zipfile(io.BytesIO(content)):
        return changed_members(content, chance)
    if content[:1] == b"{" and chance.random() < 0.5:
        return changed_json(content, chance)
    return mutated(content, chance)


def packed(content: bytes, chance: random.Random) -> bytes:
    """A compressed file: its content changed, or what is compressed."""
    if chance.random() < 0.3:
        return mutated(content, chance)
    return gzip.compress(mutated(gzip.decompress(content), chance), mtime=0)


def either(*ways: Mutation) -> Mutation:
    """One of these, by chance."""
    return lambda content, chance: chance.choice(ways)(content, chance)


IN_JSON = either(mutated, changed_json, changed_json)


# Parts of JSON --------------------------------------------------------------------------------------------------------


def _changed(document: Any, chance: random.Random) -> Any:
    places = list(_places(document))
    if not places:
        return chance.choice(LEAVES)
    holder, key = chance.choice(places)
    match chance.randrange(7):
        case 0:
            del holder[key]
        case 1 | 2:
            holder[key] = copy.deepcopy(chance.choice(LEAVES))
        case 3:
            other, own = chance.choice(places)
            if own in other if isinstance(other, dict) else own < len(other):
                holder[key] = copy.deepcopy(other[own])
        case 4:
            holder[key] = _nested(holder[key], chance)
        case 5 if isinstance(holder, dict):
            holder[_name(key, chance)] = holder.pop(key)
        case 5 | 6 if isinstance(holder, list):
            holder[key:key] = [copy.deepcopy(holder[key])] * chance.choice((1, 1, 40))
        case _:
            holder[key] = _odd(holder[key], chance)
    return document


def _places(item: Any) -> Iterator[tuple[Any, Any]]:
    """What holds a part, and under which key or place."""
    waiting = [item]
    while waiting:
        holder = waiting.pop()
        for key, inner in holder.items() if isinstance(holder, dict) else enumerate(holder):
            yield holder, key
            if isinstance(inner, dict | list):
                waiting.append(inner)


def _nested(item: Any, chance: random.Random) -> Any:
    """The part inside itself, a few times or very often."""
    for _ in range(chance.choice((1, 3, 30, 300))):
        item = [item] if chance.random() < 0.5 else {"exp": item}
    return item


def _name(key: str, chance: random.Random) -> str:
    return chance.choice((key + "x", key[:-1], key.upper(), "", chance.choice(HOSTILE).decode("utf-8", "replace")))


def _odd(item: Any, chance: random.Random) -> Any:
    """A number or a text that is a little different."""
    match item:
        case bool():
            return not item
        case int() | float():
            return chance.choice((item + 1, item - 1, -item, item * 10, 0.5, str(item)))
        case str():
            return mutated(item.encode(), chance).decode("utf-8", "replace")
        case list():
            return chance.sample(item, len(item))
    return item
