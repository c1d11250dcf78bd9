"""Train nine small ReLU networks to imitate the solved collision-avoidance problem of mdp.py and write them as ONNX.

One network per previous advisory: 3 inputs, five hidden layers of 20, 9 outputs. An output is the score of issuing
that advisory next, larger is better, so argmax is the policy. The nine networks are trained side by side as one
batched matrix product, from seed 0, and are the same in every run on the same machine and library versions.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import mdp
import numpy as np
import onnx
import onnxruntime
import torch
from mdp import Floats, Singles
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

Layers = list[tuple[Tensor, Tensor]]  # weight (9, in, out) and bias (9, 1, out) of each layer

WIDTHS = (3, 20, 20, 20, 20, 20, 9)
# The networks read x = (state - X_MEAN) / X_SCALE; they are trained on u = (state - U_MEAN) / U_SCALE, whose
# entries are all of size one, and the change of scale is folded into the first layer at the end.
X_MEAN, X_SCALE = np.array([0.0, 0.0, 20.0]), np.array([16000.0, 200.0, 40.0])
U_MEAN, U_SCALE = np.array([0.0, 0.0, 20.0]), np.array([1000.0, 50.0, 20.0])

COST_UNIT = 0.005  # cost per unit of score: scores of order one where advisories compete
SCORE_FLOOR = -12.0  # scores below are all "far worse"; the networks need not tell them apart
NEAR = 0.01  # cost lead of the best advisory below which a state counts as near a switching surface
KEEP_EASY = 0.1  # share of the remaining, easy states that stay in the training set
FIT_WEIGHT = 0.05  # weight of score regression beside cross-entropy


@dataclass(frozen=True)
class Samples:
    """States (n, 3) with the scores (n, 9) that the solved problem gives the next advisories."""

    state: Floats
    score: Singles


def draw_states(rng: np.random.Generator, n: int) -> Floats:
    """Draw states uniformly from the continuous ranges of h, v and tau."""
    low = np.array([-mdp.H_MAX, -mdp.V_MAX, 0.0])
    high = np.array([mdp.H_MAX, mdp.V_MAX, float(mdp.TAU_MAX)])
    return rng.uniform(low, high, size=(n, 3))


def score(policy: mdp.Policy, prev: int, state: Floats) -> Singles:
    """Turn interpolated costs-to-go into scores: 0 for the best advisory, negative for the others."""
    cost = policy.costs(prev, state)
    return np.asarray((cost.min(axis=1, keepdims=True) - cost) / COST_UNIT, dtype=np.float32)


def draw_training(policy: mdp.Policy, prev: int, rng: np.random.Generator, n: int) -> Samples:
    """Draw n states and thin out the easy ones: those clear of conflict by a wide lead, most of the space."""
    state = draw_states(rng, n)
    target = score(policy, prev, state)
    second = np.partition(target, -2, axis=1)[:, -2]
    hard = (target.argmax(axis=1) != 0) | (second > -NEAR / COST_UNIT)
    kept = hard | (rng.random(n) < KEEP_EASY)
    return Samples(state[kept], np.maximum(target[kept], SCORE_FLOOR))


def draw_held_out(policy: mdp.Policy, prev: int, rng: np.random.Generator, n: int) -> Samples:
    """Draw n states uniformly, from a random stream the training set never uses."""
    state = draw_states(rng, n)
    return Samples(state, score(policy, prev, state))


def initial_layers(generator: torch.Generator) -> Layers:
    """Draw He-scaled weights (9, in, out) and small biases (9, 1, out) for the nine networks."""
    layers = []
    for n_in, n_out in pairwise(WIDTHS):
        weight = torch.randn(mdp.N_ADV, n_in, n_out, generator=generator) * (2.0 / n_in) ** 0.5
        bias = torch.rand(mdp.N_ADV, 1, n_out, generator=generator) - 0.5
        layers.append((weight.requires_grad_(), bias.requires_grad_()))
    return layers


def forward(layers: Layers, u: Tensor) -> Tensor:
    """Evaluate the nine networks on their batches, (9, n, 3) to (9, n, 9)."""
    for weight, bias in layers[:-1]:
        u = torch.relu(torch.baddbmm(bias, u, weight))
    return torch.baddbmm(layers[-1][1], u, layers[-1][0])


def loss_of(output: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy against the best advisory plus a robust fit of the scores, which keeps the outputs meaningful."""
    best = target.argmax(dim=2)
    entropy = torch.nn.functional.cross_entropy(output.flatten(0, 1), best.flatten())
    fit = torch.nn.functional.smooth_l1_loss(output, target)
    return entropy + FIT_WEIGHT * fit


def to_tensor(array: Floats | Singles) -> Tensor:
    """Copy an array into a float32 tensor."""
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


def stack(sets: list[Samples]) -> tuple[Tensor, Tensor]:
    """Cut the training sets to the same length and stack them: scaled states (9, n, 3) and scores (9, n, 9)."""
    n = min(len(s.state) for s in sets)
    u = np.stack([(s.state[:n] - U_MEAN) / U_SCALE for s in sets])
    return to_tensor(u), to_tensor(np.stack([s.score[:n] for s in sets]))


def train(sets: list[Samples], steps: int, batch: int, rate: float) -> Layers:
    """Fit the nine networks with Adam under a one-cycle rate that ends near zero."""
    generator = torch.Generator().manual_seed(0)
    u, target = stack(sets)
    layers = initial_layers(generator)
    optimiser = torch.optim.Adam([p for layer in layers for p in layer], lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, steps, pct_start=0.1, final_div_factor=1e3)
    start = time.perf_counter()
    for step in range(1, steps + 1):
        rows = torch.randint(u.shape[1], (batch,), generator=generator)
        loss = descend(layers, optimiser, u[:, rows], target[:, rows])
        schedule.step()
        if step % 1000 == 0:
            print(f"step {step:6d}  loss {loss:.4f}  {time.perf_counter() - start:6.1f} s", flush=True)
    return layers


def descend(layers: Layers, optimiser: torch.optim.Optimizer, u: Tensor, target: Tensor) -> float:
    """Take one optimiser step and return the loss before it."""
    loss = loss_of(forward(layers, u), target)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return float(loss.item())


def extract(layers: Layers, prev: int) -> list[tuple[Singles, Singles]]:
    """Take one network out of the nine and fold the change from x to u into its first layer."""
    arrays = [(w[prev].detach().double().numpy(), b[prev, 0].detach().double().numpy()) for w, b in layers]
    weight, bias = arrays[0]
    arrays[0] = ((X_SCALE / U_SCALE)[:, None] * weight, bias + ((X_MEAN - U_MEAN) / U_SCALE) @ weight)
    return [(w.astype(np.float32), b.astype(np.float32)) for w, b in arrays]


def build_nodes(n_layers: int) -> list[onnx.NodeProto]:
    """Chain Gemm and Relu nodes from "input" to "output"; no Relu after the last Gemm."""
    nodes, last = [], "input"
    for i in range(1, n_layers):
        nodes.append(helper.make_node("Gemm", [last, f"W{i}", f"b{i}"], [f"z{i}"]))
        nodes.append(helper.make_node("Relu", [f"z{i}"], [f"y{i}"]))
        last = f"y{i}"
    nodes.append(helper.make_node("Gemm", [last, f"W{n_layers}", f"b{n_layers}"], ["output"]))
    return nodes


def build_onnx(arrays: list[tuple[Singles, Singles]], name: str) -> onnx.ModelProto:
    """Write a network as an ONNX model of opset 13 with a free batch size N."""
    constants = []
    for i, (weight, bias) in enumerate(arrays, start=1):
        constants += [numpy_helper.from_array(weight, f"W{i}"), numpy_helper.from_array(bias, f"b{i}")]
    source = helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", WIDTHS[0]])
    sink = helper.make_tensor_value_info("output", TensorProto.FLOAT, ["N", WIDTHS[-1]])
    graph = helper.make_graph(build_nodes(len(arrays)), name, [source], [sink], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model, full_check=True)
    return model


def run_onnx(path: Path, state: Floats) -> Singles:
    """Evaluate a written network at states (n, 3)."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    x = ((state - X_MEAN) / X_SCALE).astype(np.float32)
    return np.asarray(session.run(["output"], {"input": x})[0], dtype=np.float32)


def check_written(path: Path, layers: Layers, prev: int, state: Floats) -> float:
    """Return the largest difference between the written and the trained network, and fail where it is no rounding."""
    u = to_tensor((state - U_MEAN) / U_SCALE)
    with torch.no_grad():
        trained = forward(layers, u.expand(mdp.N_ADV, -1, -1))[prev].numpy()
    gap = float(np.abs(run_onnx(path, state) - trained).max())
    if gap > 1e-3:
        raise SystemExit(f"{path.name}: differs from the trained network by {gap}")
    return gap


@dataclass(frozen=True)
class Figures:
    """How well one network imitates the policy on held-out states; shares in percent, costs as in mdp.py."""

    agree: float  # same advisory as the policy
    alert: float  # share of states where the policy is not clear of conflict
    agree_alert: float  # same advisory, among those
    regret: float  # mean extra cost-to-go of the network's advisory where it differs

    def line(self, name: str) -> str:
        """Format a row of the final table."""
        return f"{name:<9} {self.agree:9.2f} {self.alert:9.2f} {self.agree_alert:12.2f} {self.regret:12.5f}"


def measure(output: Singles, target: Singles) -> Figures:
    """Compare the network's argmax with the policy's."""
    best, chosen = target.argmax(axis=1), output.argmax(axis=1)
    same, alert = best == chosen, best != 0
    lost = -COST_UNIT * target[np.arange(len(chosen)), chosen]
    regret = float(lost[~same].mean()) if not same.all() else 0.0
    return Figures(100 * float(same.mean()), 100 * float(alert.mean()), 100 * float(same[alert].mean()), regret)


def print_table(rows: list[Figures]) -> None:
    """Print the figures of each network and their mean."""
    print(f"{'previous':<9} {'agree %':>9} {'alert %':>9} {'agree|al. %':>12} {'mean regret':>12}")
    for name, row in zip(mdp.ADVISORIES, rows, strict=True):
        print(row.line(name))
    mean = np.mean([[r.agree, r.alert, r.agree_alert, r.regret] for r in rows], axis=0)
    print(Figures(*(float(m) for m in mean)).line("mean"))


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Solve the collision-avoidance problem and train vcas_*.onnx.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder to write to (default: here)")
    parser.add_argument("--steps", type=int, default=20000, help="optimiser steps (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=2048, help="states per step and network (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=0.005, help="largest learning rate (default: %(default)s)")
    parser.add_argument("--states", type=int, default=1_000_000, help="states drawn per network for training")
    parser.add_argument("--held-out", type=int, default=200_000, help="states drawn per network for the figures")
    return parser.parse_args()


def write_all(layers: Layers, folder: Path) -> list[Path]:
    """Write vcas_1.onnx to vcas_9.onnx; number i serves the previous advisory i - 1."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"vcas_{prev + 1}.onnx" for prev in range(mdp.N_ADV)]
    for prev, path in enumerate(paths):
        path.write_bytes(build_onnx(extract(layers, prev), path.stem).SerializeToString(deterministic=True))
    return paths


def main() -> None:
    """Solve, train, write, and measure what was written."""
    arguments = parse_arguments()
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(2 * mdp.N_ADV)]
    policy = mdp.make_policy()
    print("solved; drawing states", flush=True)
    sets = [draw_training(policy, prev, streams[prev], arguments.states) for prev in range(mdp.N_ADV)]
    layers = train(sets, arguments.steps, arguments.batch, arguments.rate)
    paths, rows = write_all(layers, arguments.out), []
    for prev, path in enumerate(paths):
        held_out = draw_held_out(policy, prev, streams[mdp.N_ADV + prev], arguments.held_out)
        print(f"{path.name}: within {check_written(path, layers, prev, held_out.state):.1e} of the trained network")
        rows.append(measure(run_onnx(path, held_out.state), held_out.score))
    print_table(rows)


if __name__ == "__main__":
    main()
