"""Networks in MATLAB files (.mat, version 5 to 7): cells `W` and `b` with a layer each, `act_fcns` with activations.

A file is a header of 128 bytes and elements: a tag (type and length) and data, padded to 8 bytes; or a tag of 4 bytes
with up to 4 bytes of data. An element may be compressed. A matrix is an element of elements: flags, sizes, name, and
then numbers, characters, or for a cell further matrices. Tables are stored column by column.

Only what is named above is decoded, cells of plain arrays and no deeper, and nothing is made that is larger than what
the file holds or may unpack to. Objects, functions, structures and sparse arrays are refused. (scipy.io reads all of
these, and enters cells within cells as deep as a file nests them, which a hostile file makes too deep for the stack.)
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from vernal.errors import FormatError
from vernal.formats.layer_lists import MAX_LAYERS, ListedLayer, network_of
from vernal.formats.limits import DEFAULT, REMEDY, Allowance, ReadLimits
from vernal.interpret.numbers.rounding import Array
from vernal.model.network import Network

HEADER = 128  # bytes
MATRIX, COMPRESSED = 14, 15  # types of elements
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
LETTERS = {**NUMBERS, 16: "u1", 17: "u2", 18: "u4"}  # characters are numbers, too: UTF-8, UTF-16, UTF-32
CELL, CHARACTERS = 1, 4  # classes of matrices
NUMERIC = range(6, 16)  # classes: doubles, singles, whole numbers
IS_COMPLEX = 0x0800  # a flag
HDF5 = b"\x89HDF"
WANTED = ("W", "b", "act_fcns")
EXPECTED = "cells `W` and `b` with the weights and biases of each layer, and `act_fcns` with their activations"


def parse_mat(data: bytes, name: str, limits: ReadLimits = DEFAULT) -> Network:
    """The network of a file's bytes."""
    found = _variables(data, limits)
    if missing := [word for word in WANTED if word not in found]:
        raise FormatError(f"it has no {', '.join(map(repr, missing))}; a network is {EXPECTED}")
    weights, biases = (_cells(found[word], word) for word in ("W", "b"))
    names = _names(found["act_fcns"])
    if not len(weights) == len(biases) == len(names):
        raise FormatError(f"it has {len(weights)} weights, {len(biases)} biases and {len(names)} activations")
    rows = zip(weights, biases, names, strict=True)
    return network_of([ListedLayer(table, bias.ravel(), act) for table, bias, act in rows], name)


def _variables(data: bytes, limits: ReadLimits) -> dict[str, _Matrix]:
    """What the file calls W, b and act_fcns, not yet decoded."""
    if HDF5 in data[:8] or HDF5 in data[512:520]:
        raise FormatError("a .mat file of version 7.3, which is HDF5; save it with -v7")
    if len(data) < HEADER or data[126:128] not in (b"IM", b"MI"):
        raise FormatError("not a .mat file of version 5 to 7")
    order = "<" if data[126:128] == b"IM" else ">"
    allowance = Allowance(limits.entries, limits.tick)
    found: dict[str, _Matrix] = {}
    for kind, content in _elements(data[HEADER:], order):
        whole = [(kind, content)] if kind != COMPRESSED else _unpacked(content, order, limits.bytes)
        for inner, body in whole:
            matrix = _matrix(body, order, allowance) if inner == MATRIX else None
            if matrix is not None and matrix.name in WANTED:
                found[matrix.name] = matrix
    return found


def _unpacked(content: bytes, order: str, most: int) -> Iterator[tuple[int, bytes]]:
    engine = zlib.decompressobj()
    plain = engine.decompress(content, most + 1)
    if len(plain) > most:
        raise FormatError(f"one of its variables is larger than {most // 2**20} MiB unpacked, {REMEDY}")
    if not engine.eof:
        raise FormatError("one of its variables is compressed, and cut off")
    return _elements(plain, order)


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Types and contents of elements, one after the other."""
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            raise FormatError("it ends in the middle of an element")
        kind, length = struct.unpack_from(f"{order}II", data, at)
        start, small = at + 8, kind >> 16
        if small:
            kind, length, start = kind & 0xFFFF, small, at + 4
        end = start + length
        if end > len(data) or (small and small > 4):
            raise FormatError(f"an element promises {length} bytes, and the file has {len(data) - start}")
        yield kind, data[start:end]
        at = at + 8 if small else end if kind == COMPRESSED else end + -length % 8


@dataclass(frozen=True, slots=True)
class _Matrix:
    """An array of some class, with its content as it is in the file."""

    name: str
    kind: int  # its class
    sizes: tuple[int, ...]
    content: list[tuple[int, bytes]]
    order: str
    allowance: Allowance

    def table(self, what: str) -> Array:
        """Its numbers, as doubles."""
        if self.kind not in NUMERIC or len(self.content) != 1:
            raise FormatError(f"{what} is no array of real numbers")
        values = self._decoded(NUMBERS, what)
        if values.dtype.itemsize == 8 and values.dtype.kind in "iu" and (np.abs(values.astype(object)) > 2**53).any():
            raise FormatError(f"{what} has whole numbers that no double holds")
        return values.astype(np.float64)

    def rows_of_text(self, what: str) -> list[str]:
        """Its characters, row by row."""
        if self.kind != CHARACTERS or len(self.content) != 1:
            raise FormatError(f"{what} is no text")
        codes = self._decoded(LETTERS, what)
        if codes.size and (codes.min() < ord(" ") or codes.max() > ord("~")):
            raise FormatError(f"{what} is no plain text")
        return ["".join(map(chr, row)) for row in codes.astype(int).tolist()]

    def parts(self, what: str) -> list[_Matrix]:
        """The arrays in a cell."""
        count = prod(self.sizes)
        if self.kind != CELL or count != len(self.content) or any(kind != MATRIX for kind, _ in self.content):
            raise FormatError(f"{what!r} is no cell of arrays; a network is {EXPECTED}")
        return [_matrix(body, self.order, self.allowance) for _, body in self.content]

    def _decoded(self, kinds: dict[int, str], what: str) -> Array:
        kind, body = self.content[0]
        if kind not in kinds or len(self.sizes) != 2:
            raise FormatError(f"{what} is no table of numbers or characters")
        values = np.frombuffer(body, dtype=np.dtype(self.order + kinds[kind]))
        if values.size != prod(self.sizes):
            raise FormatError(f"{what} is {self.sizes[0]} by {self.sizes[1]}, but has {values.size} entries")
        self.allowance.take(values.size)
        return values.reshape(self.sizes, order="F")


def _matrix(body: bytes, order: str, allowance: Allowance) -> _Matrix:
    """A matrix, whose content is left as it is."""
    allowance.take(1)
    elements = _elements(body, order)
    (_, flags), (_, sizes), (_, name) = (next(elements, (0, b"")) for _ in range(3))
    if len(flags) != 8 or len(sizes) % 4 or len(sizes) > 4 * 32:
        raise FormatError("one of its variables is damaged")
    (word,) = struct.unpack_from(f"{order}I", flags)
    counts = struct.unpack(f"{order}{len(sizes) // 4}i", sizes)
    if min(counts, default=-1) < 0:
        raise FormatError("one of its variables has a negative size")
    called = name.decode("latin-1").rstrip("\0")
    if called not in ("", *WANTED):
        return _Matrix(called, 0, counts, [], order, allowance)  # nothing that is asked for
    if word & IS_COMPLEX:
        raise FormatError(f"{called or 'an entry of a cell'!r} has complex numbers")
    return _Matrix(called, word & 0xFF, counts, _few(elements), order, allowance)


def _few(elements: Iterator[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """The elements of a matrix, of which a cell has one a layer."""
    found = []
    for element in elements:
        found.append(element)
        if len(found) > MAX_LAYERS:
            raise FormatError(f"a cell has more than {MAX_LAYERS} entries")
    return found


def _cells(matrix: _Matrix, word: str) -> list[Array]:
    return [part.table(f"{word}{{{number}}}") for number, part in enumerate(matrix.parts(word), start=1)]


def _names(matrix: _Matrix) -> Sequence[str]:
    """Of activations: rows of a table of characters, or texts in a cell."""
    if matrix.kind == CELL:
        return ["".join(part.rows_of_text("act_fcns")) for part in matrix.parts("act_fcns")]
    return matrix.rows_of_text("act_fcns")
