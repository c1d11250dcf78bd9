"""The text of a task file or of a world: read up to a limit, and decoded."""

from __future__ import annotations

from pathlib import Path

from vernal.errors import FileMissing, FormatError
from vernal.formats.missing_file import missing_file

MAX_BYTES = 2**20


def read_bytes(file: Path, what: str) -> bytes:
    """The bytes of a file; `what` is its role in messages ("task", "world")."""
    try:
        if not file.exists():
            raise missing_file(file, f"{what} file")
        if file.is_dir():
            raise FormatError(f"{file} is a directory; name the {what} file in it")
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, FileMissing | FormatError):
            raise
        raise FormatError(f"{str(file)!r} cannot be opened ({error})") from None
    if len(content) > MAX_BYTES:
        raise FormatError(f"{file}: larger than {MAX_BYTES // 2**20} MiB, which is more than a {what} file may have")
    return content


def decode(content: bytes, name: str) -> str:
    """The bytes as text."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{name}: not a TOML file: byte {error.start} is not UTF-8 text; a task file names its networks"
        raise FormatError(message) from None
