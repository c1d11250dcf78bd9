"""Networks in the text format .nnet: rectifiers between affine layers, with what is subtracted and divided by before.

// comments
layers, inputs, outputs, widest layer
the sizes of all layers
a flag, and two lines of minima and maxima, which say nothing here
the means of the inputs and one of the outputs; likewise ranges, of which zeros alone mean that there are none
weights row by row and then biases, one a line, layer by layer
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from vernal_check.errors import Unreadable
from vernal_check.onnx import MAX_WEIGHTS, Instruction, Network
from vernal_check.syntax import decimal

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
ZERO, ONE = Fraction(0), Fraction(1)


def read(data: bytes) -> Network:
    """The network of a file's bytes; weights are the floats next to what is written."""
    try:
        lines = rows(data.decode("ascii"))
        count, inputs, outputs = (int(word) for word in next(lines)[:3])
        sizes = [int(word) for word in next(lines)[: count + 1]]
        if [sizes[0], sizes[-1]] != [inputs, outputs] or len(sizes) != count + 1 or min(sizes) < 1:
            raise Unreadable("not a .nnet file: its sizes do not fit")
        if sum(a * b for a, b in pairwise(sizes)) > MAX_WEIGHTS:
            raise Unreadable("a network of too many weights")
        for _ in range(3):
            next(lines)
        means, ranges = [number(word) for word in next(lines)], [number(word) for word in next(lines)]
        if not any(means) and not any(ranges):
            means, ranges = [ZERO] * (inputs + 1), [ONE] * (inputs + 1)
        if len(means) != inputs + 1 or len(ranges) != inputs + 1 or not all(ranges):
            raise Unreadable("its means and ranges are not read")
        made = [scaled([1 / r for r in ranges[:-1]], [-m / r for m, r in zip(means[:-1], ranges, strict=False)], 0)]
        for place, (width, height) in enumerate(pairwise(sizes)):
            weights = [floats(next(lines), width) for _ in range(height)]
            shift = tuple([floats(next(lines), 1)[0] for _ in range(height)])
            table = tuple(tuple((j, w) for j, w in enumerate(row) if w) for row in weights)
            made.append(Instruction("affine", (len(made),), table, shift, width))
            if place < count - 1:
                made.append(Instruction("relu", (len(made),)))
        made.append(scaled([ranges[-1]] * outputs, [means[-1]] * outputs, len(made)))
    except (StopIteration, ValueError, IndexError, OverflowError) as error:
        raise Unreadable(f"not a .nnet file: {error!r:.80}") from None
    if next(lines, None) is not None:
        raise Unreadable("not a .nnet file: something follows its layers")
    return Network(inputs, tuple(made), outputs)


def scaled(factors: Sequence[Fraction], shift: Sequence[Fraction], vector: int) -> Instruction:
    return Instruction("affine", (vector,), tuple(((i, a),) for i, a in enumerate(factors)), tuple(shift), len(factors))


def rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.strip() and not line.strip().startswith("//"):
            yield [word for word in re.split(r"[,\s]+", line) if word]


def number(word: str) -> Fraction:
    if not NUMBER.fullmatch(word):
        raise Unreadable(f"{word[:20]!r} is no number")
    return decimal(word)


def floats(words: Sequence[str], size: int) -> list[Fraction]:
    if len(words) != size:
        raise Unreadable("a row of weights has another length than its layer")
    return [Fraction(float(number(word))) for word in words]
