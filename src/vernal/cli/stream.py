"""Output: verdicts to stdout, messages to stderr, files that may be written."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from vernal.errors import InputError
from vernal.printable import in_one_line, printable, shortened
from vernal.run.output import write_text

if TYPE_CHECKING:
    from vernal.logic.task import Task


def say(message: str) -> None:
    """One message on stderr, of lines that can be read."""
    show("\n".join(map(shortened, message.split("\n"))), sys.stderr)


def show(text: str, stream: TextIO | None = None) -> None:
    """Text for a person, on stdout unless said otherwise: control characters of names and files are shown escaped."""
    print(printable(text), file=stream or sys.stdout, flush=True)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """What a library warns of is one line, once, and names no place in a source."""
    said: set[str] = set()

    def say_once(message: Warning | str, *_: object, **__: object) -> None:
        text = in_one_line(str(message))
        if text not in said:
            said.add(text)
            say(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.showwarning = say_once
        yield


def drop_output() -> None:
    """After the reader of stdout has ended: discard the rest, so that exiting does not fail once again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def writable(*files: Path | str | None) -> None:
    """Refuse outputs that cannot be written before hours are spent on them; the text `-` (--json) is stdout."""
    named = [file for file in files if file is not None and file != "-"]
    places = [Path(file).resolve() for file in named]
    for number, file in enumerate(named):
        if str(file) == "-":
            raise InputError("only --json can go to stdout; name a file instead of -")
        folder = Path(file).absolute().parent
        if not folder.is_dir():
            raise InputError(f"cannot write {file}: there is no folder {folder}")
        if Path(file).is_dir():
            raise InputError(f"cannot write {file}: it is a folder")
        if not os.access(file if Path(file).exists() else folder, os.W_OK):
            raise InputError(f"cannot write {file}: no permission")
        if places[number] in places[:number] and not _is_device(file):
            raise InputError(f"{file} is named for two outputs; name two files")


def refuse_without_plot(plot: Path | None, of: Sequence[str] | None, plane: bool) -> None:
    """An option without effect is an error: what is drawn is said of a picture."""
    if plot is None and (of or plane):
        raise InputError(f"{'--of' if of else '--plane'} says what is drawn; name the picture with --plot FILE")


def _is_device(file: Path | str) -> bool:
    """Whether it is there and is no plain file: what is written to it does not replace anything."""
    return Path(file).exists() and not Path(file).is_file()


def refuse_overwriting(inputs: Iterable[Path | str], outputs: Iterable[Path | str | None]) -> None:
    """Refuse outputs that are inputs, before anything runs; links to one file are that file."""
    read = {Path(file).resolve() for file in inputs}
    for file in outputs:
        if file is not None and file != "-" and Path(file).resolve() in read:
            raise InputError(f"{file} is read by this command; name another file to write to")


def inputs_of(task: Task) -> list[Path]:
    """The files a task was read from, as far as they lie beside it: itself, its networks and its worlds."""
    if task.source is None:
        return []
    file = Path(task.source.file)
    return [file, *(file.parent / item.file.removeprefix("world:") for item in task.networks)]


def put(file: str, text: str) -> None:
    """To the file, or to stdout where the file is `-`."""
    if file == "-":
        sys.stdout.write(_escaped(text, sys.stdout.encoding))
        sys.stdout.flush()
    else:
        write_text(file, text)


def open_closed() -> None:
    """Streams that were closed before the start discard what is written to them; the exit code still speaks."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the process lives
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _escaped(document: str, encoding: str | None) -> str:
    """A JSON document as a stream can write it: in JSON every character has an escape of its own."""
    try:
        document.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return "".join(one if one.isascii() else json.dumps(one)[1:-1] for one in document)
    return document
