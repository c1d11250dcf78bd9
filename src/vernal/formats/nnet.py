"""The Stanford .nnet text format: a ReLU stack with its normalisation in the header.

    // comments
    number of layers, inputs, outputs, widest layer
    layer sizes                      one more than layers; further entries are ignored
    a flag that is ignored
    minima of the inputs             ignored: Vernal never clips
    maxima of the inputs
    means of the inputs, and of the outputs
    ranges of the inputs, and of the outputs
    for each layer its weights, a row a line, then its biases, one a line

The network computes out * range + mean of its layers at (x - mean) / range, and so does ours: the header's numbers are
the decimals written, as explicit layers, the weights are the nearest doubles. A single 0 for the ranges means that
there is no normalisation. Commas at the end of a line may be there or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

from vernal.errors import FormatError
from vernal.formats.layers import check_finite, check_weights, check_width, dense
from vernal.formats.relu_stack import Stack, as_stack
from vernal.interpret.numbers.rounding import Array
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.network import Network, network_input
from vernal.run.output import write_text

NUMBER = re.compile(r"[+-]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
MAX_LAYERS = 1000


def parse_nnet(data: bytes, name: str) -> Network:
    """The network of a file's bytes."""
    try:
        text = data.decode("ascii", errors="strict")
    except UnicodeDecodeError:
        raise FormatError("not a .nnet file: it is not text") from None
    lines = _Lines(text)
    count, inputs, outputs = _whole(lines.next("its header"), 3)[:3]
    if not 0 < count <= MAX_LAYERS:
        raise FormatError(f"its header promises {count} layers; 1 to {MAX_LAYERS} are read")
    sizes = _whole(lines.next("its layer sizes"), count + 1)[: count + 1]
    _check_sizes(sizes, inputs, outputs, lines)
    for skipped in ("its flag line", "its minima", "its maxima"):
        lines.next(skipped)
    means, ranges = lines.next("its means"), lines.next("its ranges")
    scaling = _scaling([_exact(word, "means") for word in means], [_exact(word, "ranges") for word in ranges], inputs)
    variable = network_input(inputs)
    x = scaling.enter(variable)
    for number, (width, height) in enumerate(pairwise(sizes), start=1):
        x = dense(x, *_layer(lines, number, width, height))
        x = build.relu(x) if number < count else x
    lines.finish()
    return Network(name, variable, scaling.leave(x))


class _Lines:
    """The lines that say something, one after the other, each as its entries."""

    def __init__(self, text: str) -> None:
        numbered = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
        self.rows = [(number, line) for number, line in numbered if line and not line.startswith("//")]
        self.position = 0

    @property
    def left(self) -> int:
        return len(self.rows) - self.position

    def next(self, what: str) -> list[str]:
        if not self.left:
            raise FormatError(f"the file ends where {what} should be")
        line = self.rows[self.position][1]
        self.position += 1
        return [word for word in re.split(r"[,\s]+", line) if word]

    def finish(self) -> None:
        if self.left:
            raise FormatError(f"line {self.rows[self.position][0]} and what follows belong to no layer")


def _check_sizes(sizes: Sequence[int], inputs: int, outputs: int, lines: _Lines) -> None:
    """What the header promises must agree with itself and with the lines there are, before anything is made."""
    if sizes[0] != inputs or sizes[-1] != outputs:
        raise FormatError(f"its header says {inputs} inputs and {outputs} outputs, its layers are {list(sizes)}")
    if min(sizes) < 1:
        raise FormatError(f"its layers are {list(sizes)}; none may be empty")
    promised = 5 + 2 * sum(sizes[1:])
    if promised != lines.left:
        raise FormatError(f"its header promises {promised} more lines, but there are {lines.left}")
    check_width((max(sizes),))
    for width, height in pairwise(sizes):
        check_weights(height, width)


def _whole(words: Sequence[str], least: int) -> list[int]:
    if len(words) < least or not all(re.fullmatch(r"[0-9]{1,18}", word) for word in words[:least]):
        raise FormatError(f"not a .nnet file: {least} whole numbers are expected, not {' '.join(words)[:60]!r}")
    return [int(word) for word in words[:least]]


def _exact(word: str, what: str) -> Fraction:
    """A number as the decimal it is written as."""
    if NO_NUMBER.fullmatch(word):
        raise FormatError(f"its {what} hold NaN or infinite numbers")
    if not NUMBER.fullmatch(word):
        raise FormatError(f"{word[:40]!r} among its {what} is not a number")
    return Fraction(word)


def _row(words: Sequence[str], size: int, what: str) -> Iterator[float]:
    if len(words) != size:
        raise FormatError(f"{what} has a row of {len(words)} numbers where {size} are expected")
    for word in words:
        if not NUMBER.fullmatch(word) and not NO_NUMBER.fullmatch(word):
            raise FormatError(f"{word[:40]!r} in {what} is not a number")
        yield float(word)


def _layer(lines: _Lines, number: int, width: int, height: int) -> tuple[Array, Array]:
    """The weights and biases of one layer, as the doubles nearest to what is written."""
    tensors = []
    for what, size in ((f"the weights of layer {number}", width), (f"the biases of layer {number}", 1)):
        rows = [list(_row(lines.next(what), size, what)) for _ in range(height)]
        tensors.append(np.array(rows, dtype=np.float64))
        check_finite(tensors[-1], what)
    return tensors[0], tensors[1].ravel()


# Normalisation --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scaling:
    """(x - mean) / range on the way in, out * range + mean on the way out."""

    means: tuple[Fraction, ...] = ()
    ranges: tuple[Fraction, ...] = ()
    output_mean: Fraction = Fraction(0)
    output_range: Fraction = Fraction(1)

    def enter(self, x: Expr) -> Expr:
        if any(self.means):
            x = build.add(x, build.vector([-mean for mean in self.means]))
        return build.div(x, build.vector(self.ranges)) if any(item != 1 for item in self.ranges) else x

    def leave(self, x: Expr) -> Expr:
        if self.output_range != 1:
            x = build.mul(x, self.output_range)
        return build.add(x, self.output_mean) if self.output_mean else x


def _scaling(means: Sequence[Fraction], ranges: Sequence[Fraction], inputs: int) -> Scaling:
    if not any(ranges):
        if any(means):
            raise FormatError("its means are given, but its ranges are 0")
        return Scaling()
    if not len(means) == len(ranges) or len(means) not in (inputs, inputs + 1):
        raise FormatError(f"its means and ranges have {len(means)} and {len(ranges)} entries, not {inputs + 1}")
    if 0 in ranges:
        raise FormatError("one of its ranges is 0")
    last = (means[inputs], ranges[inputs]) if len(means) > inputs else (Fraction(0), Fraction(1))
    return Scaling(tuple(means[:inputs]), tuple(ranges[:inputs]), *last)


# Writing --------------------------------------------------------------------------------------------------------------


def write_nnet(network: Network, path: str | Path) -> None:
    """Write a ReLU stack as a .nnet file."""
    write_text(path, format_nnet(network))


def format_nnet(network: Network) -> str:
    """A ReLU stack as .nnet text; every weight is written so that reading it gives the same double."""
    if network.dropped is not None:
        raise FormatError(f"network {network.name!r} ends with {network.dropped}, which .nnet cannot say")
    stack = as_stack(network, ".nnet")
    sizes = [network.input_size, *(layer.weight.array.shape[0] for layer in stack.layers)]
    lines = [
        f"// {network.name.encode('ascii', 'replace').decode()}: written by Vernal".replace("\n", " "),
        _line([len(stack.layers), sizes[0], sizes[-1], max(sizes)]),
        _line(sizes),
        "0,",
        *_bounds(stack),
        _line(map(_decimal, (*stack.means, stack.output_mean))),
        _line(map(_decimal, (*stack.ranges, stack.output_range))),
    ]
    for layer in stack.layers:
        lines += [_line(map(repr, row)) for row in layer.weight.array.tolist()]
        lines += [_line([repr(value)]) for value in layer.bias.array.tolist()]
    return "\n".join(lines) + "\n"


def _bounds(stack: Stack) -> list[str]:
    """Minima and maxima, which a network does not have: the largest numbers there are."""
    largest = repr(float(np.finfo(np.float32).max))
    return [_line([f"-{largest}"] * len(stack.means)), _line([largest] * len(stack.means))]


def _line(entries: Iterable[object]) -> str:
    return "".join(f"{entry}," for entry in entries)


def _decimal(number: Fraction) -> str:
    """A rational as a finite decimal, exactly."""
    places = 0
    while (number * 10**places).denominator != 1 and places < 400:
        places += 1
    scaled = number * 10**places
    if scaled.denominator != 1:
        raise FormatError(f"{number} is not a finite decimal, so .nnet cannot say it")
    digits = f"{abs(scaled.numerator):0{places + 1}d}"
    text = f"{digits[:-places]}.{digits[-places:]}" if places else f"{digits}.0"
    return f"-{text}" if number < 0 else text
