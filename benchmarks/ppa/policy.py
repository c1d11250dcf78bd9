"""Policies of the family: two layers of ReLUs over some variables of a model, a score for each label; .nnet files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.learning import Floats, Layers, forward
from benchmarks.ppa.jani import write_json
from benchmarks.ppa.simulate import Ints, Simulator

DIGITS = 4  # of every weight, as it is written, measured and verified


@dataclass(frozen=True)
class Policy:
    """A network with its interface: the variables it observes and the labels it scores."""

    inputs: Sequence[str]
    labels: Sequence[str]
    layers: Layers

    def scores(self, simulator: Simulator, states: Ints) -> Floats:
        columns = [simulator.columns[name] for name in self.inputs]
        return forward(self.layers, states[:, columns].astype(float), "Relu")[-1]

    def choose(self, simulator: Simulator, states: Ints) -> Ints:
        """The number of the label that is chosen, by the model's order of labels."""
        order = np.array([simulator.labels.index(label) for label in self.labels])
        chosen: Ints = order[self.scores(simulator, states).argmax(axis=1)]
        return chosen

    @property
    def sizes(self) -> list[int]:
        return [len(self.inputs), *(len(bias) for _, bias in self.layers)]


def rounded(layers: Layers) -> Layers:
    """Weights and biases with few digits."""
    return [(_few_digits(weight), _few_digits(bias)) for weight, bias in layers]


def _few_digits(numbers: Floats) -> Floats:
    return np.array([float(digits(number)) for number in numbers.ravel()]).reshape(numbers.shape)


def digits(number: float) -> str:
    """A weight as it is written."""
    return f"{number:.{DIGITS}g}"


# Files ----------------------------------------------------------------------------------------------------------------


def write_policy(policy: Policy, stem: Path, bounds: Sequence[tuple[int, int]]) -> None:
    """STEM.nnet and STEM.jani2nnet; bounds are those of the observed variables."""
    sizes, one = policy.sizes, "1," * (len(policy.inputs) + 1)
    lines = [
        f"// {stem.name}",
        _row([len(policy.layers), sizes[0], sizes[-1], max(sizes)]),
        _row(sizes),
        "0,",
        _row([low for low, _ in bounds]),
        _row([high for _, high in bounds]),
        one.replace("1", "0"),
        one,
    ]
    for weight, bias in policy.layers:
        lines += ["".join(f"{digits(number)}," for number in row) for row in weight]
        lines += [f"{digits(number)}," for number in bias]
    stem.parent.mkdir(parents=True, exist_ok=True)
    _beside(stem, ".nnet").write_text("\n".join(lines) + "\n", encoding="ascii")
    write_json(_beside(stem, ".jani2nnet"), _interface(policy, f"{stem.name}.nnet"))


def _row(numbers: Sequence[int]) -> str:
    return "".join(f"{number}," for number in numbers)


def _interface(policy: Policy, file: str) -> dict[str, object]:
    return {
        "file": file,
        "input": [{"name": name, "automaton": None} for name in policy.inputs],
        "elements": policy.sizes[1:-1],
        "output": list(policy.labels),
        "filter": False,
    }


def _beside(stem: Path, suffix: str) -> Path:
    return stem.with_name(stem.name + suffix)


def read_policy(stem: Path) -> Policy:
    """What `write_policy` wrote."""
    interface = json.loads(_beside(stem, ".jani2nnet").read_text(encoding="utf-8"))
    lines = _beside(stem, ".nnet").read_text(encoding="ascii").splitlines()
    rows = [[float(word) for word in line.split(",")[:-1]] for line in lines[8:]]
    layers, at = Layers(), 0
    for size in map(int, lines[2].split(",")[1:-1]):
        layers.append((np.array(rows[at : at + size]), np.array(rows[at + size : at + 2 * size])[:, 0]))
        at += 2 * size
    return Policy([entry["name"] for entry in interface["input"]], interface["output"], layers)
