"""Reading networks, whatever their format.

    read_network("controller.onnx")     .onnx, .nnet, .h5 and HDF5 files called .keras, each also compressed (.gz)
    read_network("controller.mat")      cells W, b and act_fcns; controller.yml: activations, offsets, weights
    read_network("model.zip")           a policy saved by stable-baselines3
    read_network("trees.json")          gradient-boosted trees saved by XGBoost

Whatever is wrong with a file, one `FormatError` that names it comes out: broken, too large, with NaN weights or with an
operator Vernal does not read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from inspect import signature
from pathlib import Path, PurePosixPath
from typing import TypeVar

from vernal.errors import DataUnset, FormatError, InputError, Stopped, nearest
from vernal.formats.compression import unpacked
from vernal.formats.limits import DEFAULT, REMEDY, ReadLimits
from vernal.formats.missing_file import missing_file
from vernal.formats.onnx.external import MARK, with_data
from vernal.model.network import Network
from vernal.printable import in_one_line, shortened

T = TypeVar("T")

MAX_REMEMBERED = 2**20  # bytes
PACKED = ".gz"
DATA = "data:"
READERS = {  # by suffix, the function that reads the content: (bytes, name) -> Network
    ".onnx": "vernal.formats.onnx.reader:parse_onnx",
    ".nnet": "vernal.formats.nnet:parse_nnet",
    ".h5": "vernal.formats.keras.h5:parse_h5",
    ".hdf5": "vernal.formats.keras.h5:parse_h5",
    ".keras": "vernal.formats.keras.h5:parse_h5",
    ".mat": "vernal.formats.matlab:parse_mat",
    ".yml": "vernal.formats.yaml_layers:parse_yaml_layers",
    ".yaml": "vernal.formats.yaml_layers:parse_yaml_layers",
    ".zip": "vernal.formats.sb3.saved_policy:parse_sb3",
    ".json": "vernal.formats.xgboost:parse_xgboost",
}


def read_network(
    path: str | Path,
    *,
    name: str | None = None,
    carry: Mapping[str, str] | None = None,
    output: str | None = None,
    limits: ReadLimits = DEFAULT,
    parser: Callable[[bytes, str], Network] | None = None,
) -> Network:
    """The network in a file, by its suffix; `name` is the file's name without suffix unless given.

    `carry` says which output of an ONNX graph is the next value of which input, where their names do not; `output`
    chooses one of several outputs by its name; `parser` reads the content in another way than the suffix says.

    Example: `vn.read_network("policy.onnx")([0.1, 0.2])`
    """
    file = Path(path)
    parse = parser or _parser(file)
    if carry:
        parse = _with_option(parse, file, "carry", carry)
    if output is not None:
        parse = _with_option(parse, file, "output", output)
    content, sha256 = read_whole(file, limits.bytes)
    network = _guarded(parse, limits, content, file, name or unpacked_name(file).stem)
    return replace(network, file=str(path), sha256=sha256)


def read_parsed(file: Path, parse: Callable[[bytes], T]) -> T:
    """What a file beside a network holds; whatever is wrong with it is one error that names it."""
    content = read_bytes(file)
    with _naming(file):
        return parse(content)


def unpacked_name(file: Path) -> Path:
    """The name of a file without the suffix that says it is compressed."""
    return file.with_suffix("") if file.suffix.lower() == PACKED else file


def locate(reference: str, base: Path) -> Path:
    """Where a task's reference points: below VERNAL_DATA for `data:folder/file`, else relative to `base`."""
    if not reference.startswith(DATA):
        return base / reference
    folder = os.environ.get("VERNAL_DATA")
    if not folder:
        raise DataUnset(f"{reference!r} is looked up under VERNAL_DATA: set that variable to the folder of the data")
    inside = PurePosixPath(reference.removeprefix(DATA))
    if inside.is_absolute() or ".." in inside.parts or not inside.parts:
        raise InputError(f"{reference!r} leaves the data folder; write data:FOLDER/FILE without '..'")
    return Path(folder) / inside


def is_file(path: Path) -> bool:
    """Whether there is a plain file of this name; a name that is too long for any is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_bytes(file: Path, most: int = DEFAULT.bytes, remark: str = "more than Vernal reads") -> bytes:
    """The content of a plain file of at most so many bytes."""
    try:
        if not file.exists():
            raise missing_file(file, remark=_neighbours(file))
        if not file.is_file():
            raise FormatError(f"{file}: not a plain file")
        with file.open("rb") as stream:
            content = stream.read(most + 1) if file.stat().st_size <= most else None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise FormatError(f"{file}: cannot be opened ({error})") from None
    if content is None or len(content) > most:
        raise FormatError(f"{file}: larger than {most // 2**20} MiB, {remark}")
    return content


def read_whole(file: Path, most: int = DEFAULT.bytes) -> tuple[bytes, str]:
    """The content of a network file, weights that lie beside it brought in, and the sha256 of all that was read.

    With `policy.onnx.data` beside `policy.onnx` that is the sha256 of the one followed by the other.
    """
    packed = read_bytes(file, most, REMEDY)
    digest = hashlib.sha256(packed)
    content = unpacked(packed, file, most, REMEDY) if file.suffix.lower() == PACKED else packed
    if unpacked_name(file).suffix.lower() == ".onnx" and MARK in content:
        with _naming(file):
            content, others = with_data(content, lambda location: _read_beside(file, location, most), most)
        for other in others:
            digest.update(other)
    return content, digest.hexdigest()


def _read_beside(file: Path, location: str, most: int) -> bytes:
    """A file below the folder of a network; a link to elsewhere is refused."""
    target = file.parent / location
    if not target.resolve().is_relative_to(file.parent.resolve()):
        raise FormatError(f"{location!r} is a link to a file outside the folder of the network")
    return read_bytes(target, most, REMEDY)


def _neighbours(file: Path) -> str:
    """A hint at a file of almost the same name beside it."""
    folder = file.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    hint = nearest(file.name, names)
    return hint if "did you mean" in hint else ""


OTHER_FILES = {
    ".toml": "; a task in continuous time is written as .xml or .json",
    ".xml": "; a hybrid automaton is written as .xml or .json",
}  # what `vernal convert` does with files that hold no network


def _parser(file: Path) -> Callable[[bytes, str], Network]:
    """The reader for a suffix; each is imported only when it is needed."""
    suffix = unpacked_name(file).suffix.lower()
    if suffix in READERS:
        module, _, name = READERS[suffix].partition(":")
        parse: Callable[[bytes, str], Network] = getattr(import_module(module), name)
        return parse
    what = repr(suffix) if suffix else "a folder" if os.path.isdir(file) else "a file without an ending"
    known = ".onnx, .nnet, .h5, .mat, .yml, .zip (stable-baselines3) and .json (XGBoost) files"
    raise FormatError(f"{file}: networks are read from {known}, not from {what}{OTHER_FILES.get(suffix, '')}")


def _with_option(
    parse: Callable[[bytes, str], Network], file: Path, option: str, value: Mapping[str, str] | str
) -> Callable[[bytes, str], Network]:
    """The reader of ONNX graphs with one more option, `carry` or `output`."""
    from vernal.formats.onnx.reader import parse_onnx

    if getattr(parse, "func", parse) is not parse_onnx:
        raise FormatError(
            f"{file}: {option} is about inputs and outputs of ONNX graphs; other formats have no use for it"
        )
    return partial(parse, **{option: value})


def _guarded(
    parse: Callable[[bytes, str], Network], limits: ReadLimits, content: bytes, file: Path, name: str
) -> Network:
    """The network of a content; a small one, within the usual limits, is parsed once and remembered."""
    limits.tick()
    with _naming(file):
        if len(content) <= MAX_REMEMBERED and limits.entries == DEFAULT.entries:
            return _remembered(parse, content, name)
        return _limited(parse, limits)(content, name)


def _limited(parse: Callable[[bytes, str], Network], limits: ReadLimits) -> Callable[[bytes, str], Network]:
    """The reader with limits of its own; those of some formats need none but the size of the file."""
    reader: Callable[..., Network] = parse
    return partial(reader, limits=limits) if "limits" in signature(parse).parameters else parse


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Whatever a hostile file provokes in a parser becomes one error that names the file."""
    try:
        yield
    except FormatError as error:
        raise type(error)(f"{file}: {in_one_line(error.message)}") from None
    except Stopped:
        raise
    except Exception as error:
        what = in_one_line(shortened(f"{type(error).__name__}: {error}"))
        raise FormatError(f"{file}: damaged or not what its suffix says ({what})") from error


@lru_cache(maxsize=64)
def _remembered(parse: Callable[[bytes, str], Network], content: bytes, name: str) -> Network:
    """Small networks are parsed once, however often a sweep loads its task."""
    return parse(content, name)
