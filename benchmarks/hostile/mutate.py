"""Mutations of files: bytes, words and numbers changed, left out, doubled or moved."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
WORD = re.compile(rb"[A-Za-z_]+|\d+|[^\sA-Za-z_0-9]")
EXTREMES = [
    *(b"0", b"-0", b"1e308", b"-1e308", b"1e309", b"1e400", b"1e-400", b"9" * 50, b"9" * 5000, b"1e999999999"),
    *(b"nan", b"inf", b"-inf", b"0.1", b"1/0", b"2147483648", b"9223372036854775808", b"18446744073709551616"),
]
HOSTILE = [
    *(b"\x1b[2K", b"\x00", b"\xff\xfe", "\u202e".encode(), b"\r", b"'" * 3, b'"', b"((((", b"[[[[", b"{{{{", b"=cmd|x"),
    *(b"../../etc/passwd", b"/dev/zero", b"a." * 300, b"\\", b"#", b"\n"),
]


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The content after one to four changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        content = chance.choice(CHANGES)(content, chance)
    return content


def flip(content: bytes, chance: random.Random) -> bytes:
    """Some bits, more in a longer file."""
    made = bytearray(content)
    for _ in range(chance.randint(1, 1 + len(made) // 2000)):
        if made:
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def leave_out(content: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randint(0, len(content)) for _ in range(2))
    return content[:start] + content[min(end, start + chance.choice((1, 8, 200))) :]


def double(content: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randint(0, len(content)) for _ in range(2))
    return content[:end] + content[start:end] * chance.choice((1, 2, 50)) + content[end:]


def cut_off(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def insert(content: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(content))
    return content[:at] + chance.choice(HOSTILE) * chance.choice((1, 1, 1, 100)) + content[at:]


def change_number(content: bytes, chance: random.Random) -> bytes:
    """One of the numbers becomes an extreme one."""
    return _replaced(content, NUMBER, chance, lambda _: chance.choice(EXTREMES))


def swap_words(content: bytes, chance: random.Random) -> bytes:
    """A word becomes another one of the same file."""
    words = WORD.findall(content[:100_000])
    return _replaced(content, WORD, chance, lambda _: chance.choice(words)) if words else content


def _replaced(content: bytes, pattern: re.Pattern[bytes], chance: random.Random, by: Callable[[bytes], bytes]) -> bytes:
    found = list(pattern.finditer(content[:200_000]))
    if not found:
        return content
    one = chance.choice(found)
    return content[: one.start()] + by(one[0]) + content[one.end() :]


CHANGES = [flip, leave_out, double, cut_off, insert, change_number, change_number, swap_words, swap_words]
