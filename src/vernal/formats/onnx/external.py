"""Weights that lie beside an ONNX file, brought into it: torch keeps them in `policy.onnx.data` next to `policy.onnx`.

A file is not trusted: only files in the network's own folder or below it are opened, and offsets
and lengths are compared with what these files have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from vernal.errors import FormatError
from vernal.formats.limits import REMEDY

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

MARK = b"location"  # the key without which no tensor lies elsewhere
OUTSIDE = 1  # TensorProto.EXTERNAL
MAX_FILES = 64
ADVICE = "export with external_data=False, which writes one file"


def with_data(content: bytes, read: Callable[[str], bytes], most: int) -> tuple[bytes, list[bytes]]:
    """The file with all of its weights inside, and the files they came from, in the order in which they are named.

    `read` opens a file of the network's folder, `most` is how many bytes may come together.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        model = onnx.ModelProto.FromString(content)
    except DecodeError:
        return content, []  # the parser reports what is wrong
    files: dict[str, bytes] = {}
    left = most - len(content)
    for tensor in _outside(model):
        where = {entry.key: entry.value for entry in tensor.external_data}
        location = _location(tensor, where)
        if location not in files:
            files[location] = _open(tensor, location, read, files)
        part = _part(tensor, where, files[location])
        left -= len(part)
        if left < 0:
            raise FormatError(f"larger than {most // 2**20} MiB with its data, {REMEDY}")
        _bring_in(tensor, part)
    return (model.SerializeToString() if files else content), list(files.values())


def _outside(model: ModelProto) -> Iterator[TensorProto]:
    """The tensors that lie in other files, constants in nodes among them."""
    constants = (attribute.t for node in model.graph.node for attribute in node.attribute if attribute.HasField("t"))
    for tensors in (model.graph.initializer, constants):
        yield from (tensor for tensor in tensors if tensor.data_location == OUTSIDE)


def _location(tensor: TensorProto, where: dict[str, str]) -> str:
    location = where.get("location", "")
    path = PurePosixPath(location)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in location or ":" in location:
        raise FormatError(f"tensor {tensor.name!r} lies in {location!r}, outside the folder of the network; {ADVICE}")
    return location


def _open(tensor: TensorProto, location: str, read: Callable[[str], bytes], files: dict[str, bytes]) -> bytes:
    if len(files) >= MAX_FILES:
        raise FormatError(f"its tensors lie in more than {MAX_FILES} files; {ADVICE}")
    try:
        return read(location)
    except FileNotFoundError:
        message = f"tensor {tensor.name!r} lies in {location!r}, which is not beside it"
        raise FormatError(f"{message}: keep both files in one folder, or {ADVICE}") from None


def _part(tensor: TensorProto, where: dict[str, str], content: bytes) -> bytes:
    """The bytes of a tensor; without a length, the rest of the file."""
    start = _number(tensor, where.get("offset", "0"))
    end = start + _number(tensor, where["length"]) if "length" in where else len(content)
    if not start <= end <= len(content):
        location, size = where["location"], len(content)
        raise FormatError(
            f"tensor {tensor.name!r} is at bytes {start} to {end} of {location!r}, which has {size}: not the file that"
            " was written with this one"
        )
    return content[start:end]


def _number(tensor: TensorProto, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise FormatError(f"tensor {tensor.name!r} has the offset or length {text[:20]!r}, which is no number")
    return int(text)


def _bring_in(tensor: TensorProto, part: bytes) -> None:
    tensor.raw_data = part
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
