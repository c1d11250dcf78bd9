"""Files that are written: whole or not at all, in the mode of what they replace."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from vernal.errors import InputError


def write_text(file: str | Path, text: str) -> None:
    """A file of this text, in UTF-8."""
    write_bytes(file, text.encode())


def write_bytes(file: str | Path, content: bytes) -> None:
    """A file of these bytes."""
    write_file(file, lambda stream: stream.write(content))


def write_file(file: str | Path, fill: Callable[[BinaryIO], object]) -> None:
    """A file as `fill` writes it: readers see the old one or the whole new one. Devices are written directly."""
    try:
        with _opened(Path(file).resolve()) as stream:
            fill(stream)
            stream.flush()
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror or error}") from None


@contextmanager
def _opened(target: Path) -> Iterator[BinaryIO]:
    """The file itself where it cannot be replaced, else a new one beside it that takes its place in the end."""
    if (target.exists() and not target.is_file()) or not os.access(target.parent, os.W_OK):
        with target.open("wb") as stream:
            yield stream
        return
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as stream:  # follows no link
            if target.exists():
                os.chmod(part, stat.S_IMODE(target.stat().st_mode))
            yield stream
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
