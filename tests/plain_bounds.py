"""A second proof of what boxes prove: bounds of dense networks by back substitution, in plain floats and a few lines.

It shares nothing with `interpret/linear` but the idea, knows nothing of rounding, and proves with a margin that no
rounding reaches. `python -m tests.plain_bounds` proves every unsat of benchmarks/queries again and notes how many boxes
that took.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.learning import Floats, Layers
from benchmarks.queries.networks import NETWORKS, load
from benchmarks.queries.questions import AskedQuestion, margin, read_questions, rows, write_questions

BATCH, MOST = 256, 2_000_000  # boxes at a time, and in all
CLEAR = 5e-5
AGAIN = "; again by "

Lines = tuple[Floats, Floats, Floats, Floats]  # slopes and constants of a lower and of an upper line


def relu_lines(low: Floats, high: Floats) -> Lines:
    """The chord above, 0 or the identity below."""
    slope = np.where(low >= 0, 1.0, np.where(high <= 0, 0.0, high / np.maximum(high - low, 1e-30)))
    below = np.where(low >= 0, 1.0, np.where(high <= 0, 0.0, (high > -low).astype(float)))
    return below, np.zeros_like(low), slope, np.where((low < 0) & (high > 0), -slope * low, 0.0)


def tanh_lines(low: Floats, high: Floats) -> Lines:
    """Through the ends, with the least slope of the interval, which is at one of them."""
    slope = np.minimum(1 - np.tanh(low) ** 2, 1 - np.tanh(high) ** 2)
    return slope, np.tanh(low) - slope * low, slope, np.tanh(high) - slope * high


def above(C: Floats, layers: Layers, lines: list[Lines], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Upper bounds of C times the last layer's values, box by box, and the slopes at the inputs they come from."""
    A, constant = np.broadcast_to(C, (len(low), *C.shape)), np.zeros((len(low), len(C)))
    for number in range(len(layers) - 1, -1, -1):
        weight, bias = layers[number]
        constant = constant + A @ bias
        A = A @ weight
        if number:
            slope, offset, steep, lift = (part[:, None, :] for part in lines[number - 1])
            up, down = np.maximum(A, 0), np.minimum(A, 0)
            constant = constant + (up * lift + down * offset).sum(-1)
            A = up * steep + down * slope
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    return constant + (A * middle[:, None]).sum(-1) + (np.abs(A) * half[:, None]).sum(-1), A


def upper_bounds(C: Floats, layers: Layers, function: str, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The same with lines for every hidden layer, each from bounds of its own sums."""
    lines: list[Lines] = []
    for number in range(1, len(layers)):
        size = layers[number - 1][0].shape[0]
        both = np.concatenate([np.eye(size), -np.eye(size)])
        ends, _ = above(both, layers[:number], lines, low, high)
        lines.append((relu_lines if function == "Relu" else tanh_lines)(-ends[:, size:], ends[:, :size]))
    return above(C, layers, lines, low, high)


def reproved(question: AskedQuestion, layers: Layers) -> int | None:
    """How many boxes prove that the claim is true nowhere; None where too many do not."""
    C, constants, cases = rows(question, len(layers[-1][1]))
    function, ends = NETWORKS[question.network].function, question.ends()
    low, high, count = ends[0][None], ends[1][None], 0
    while len(low):
        count += len(low[:BATCH])
        if count > MOST:
            return None
        found, slopes = upper_bounds(C, layers, function, low[:BATCH], high[:BATCH])
        is_open = margin(found + constants, cases) >= -CLEAR
        a, b = low[:BATCH][is_open], high[:BATCH][is_open]
        axis = (np.abs(slopes[is_open]).sum(1) * (b - a)).argmax(1)
        row = np.arange(len(a))
        left, right = b.copy(), a.copy()
        left[row, axis] = right[row, axis] = 0.5 * (a + b)[row, axis]
        low, high = np.concatenate([low[BATCH:], a, right]), np.concatenate([high[BATCH:], left, b])
    return count


def main() -> None:
    questions = read_questions()
    for number, one in enumerate(questions):
        if one.answer == "unsat" and AGAIN not in one.how:
            boxes = reproved(one, load(one.network))
            print(f"{one.name}: {boxes}", flush=True)
            if boxes is not None:
                questions[number] = replace(one, how=f"{one.how}{AGAIN}{boxes}")
    write_questions(questions)


if __name__ == "__main__":
    main()
