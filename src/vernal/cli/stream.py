"""Output: verdicts to stdout, messages to stderr, whole files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from vernal.errors import InputError


def say(message: str) -> None:
    """One message on stderr."""
    print(message, file=sys.stderr, flush=True)


def drop_output() -> None:
    """After the reader of stdout has ended: discard the rest, so that exiting does not fail once again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def writable(*files: Path | str | None) -> None:
    """Refuse outputs that cannot be written before hours are spent on them; the text `-` (--json) is stdout."""
    for file in files:
        if file is None or file == "-":
            continue
        if str(file) == "-":
            raise InputError("only --json can go to stdout; name a file instead of -")
        folder = Path(file).absolute().parent
        if not folder.is_dir():
            raise InputError(f"cannot write {file}: there is no folder {folder}")
        if Path(file).is_dir():
            raise InputError(f"cannot write {file}: it is a folder")
        if not os.access(file if Path(file).exists() else folder, os.W_OK):
            raise InputError(f"cannot write {file}: no permission")


def put(file: str, text: str) -> None:
    """To the file, or to stdout where the file is `-`."""
    if file == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write(file, text)


def write(file: Path | str, text: str) -> None:
    """Write a whole file or none: a reader never sees half of it. A device or pipe is written directly."""
    try:
        _write(Path(file).resolve(), text)
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror or error}") from None


def _write(target: Path, text: str) -> None:
    if (target.exists() and not target.is_file()) or not os.access(target.parent, os.W_OK):
        target.write_text(text, encoding="utf-8")
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
