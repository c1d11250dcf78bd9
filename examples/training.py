"""Recurrent policies that learn from a teacher: what the training scripts of the examples and benchmarks share.

The teacher sees the whole state, velocities and all; the pupil, a few recurrent ReLU units, sees less and has to
remember. The pupil acts in the world, the teacher says at every step what it would have done there, and the pupil
learns from all of these sequences (S. Ross, G. Gordon and D. Bagnell, AISTATS 2011). The worlds are those that are
verified, many copies at a time; seeds are fixed.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from examples.playing import SEEDS, Array, Lesson, Original, Policy, at_random, play, sight


class Pupil(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Layers of recurrent ReLU units, h' = relu(W o + R h + b), and a linear layer on top of the last one."""

    def __init__(
        self, inputs: int, width: int, layers: int, outputs: int, scale: Sequence[float], gain: float, lift: float
    ) -> None:
        super().__init__()
        self.rnn = nn.RNN(inputs, width, layers, nonlinearity="relu")
        self.head = nn.Linear(width, outputs)
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))
        self._begin(width // 2, gain, lift)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _begin(self, half: int, gain: float, lift: float) -> None:
        """Half of the first units look at what is there, the others at how it changed: velocities are close at hand.

        Where velocities are seen and the gain is 0, all look at what is there. They are active in the middle of things,
        where decisions are taken: the fewer of them switch there, the tighter are bounds. With a lift that is also true
        of units that look at changes, and of the layers above.
        """
        W, R, b, c = self.layer(0)
        R *= 0.2
        b[:], c[:] = 0.5, 0.0
        if gain:
            sign = gain * (-1.0) ** torch.arange(half)
            W[half : 2 * half], b[half : 2 * half] = sign[:, None] * W[:half], sign * b[:half] + lift
            R[half : 2 * half, :half] -= torch.diag(sign)
        for above in range(1, self.rnn.num_layers if lift else 1):
            W, R, b, c = self.layer(above)
            R *= 0.2
            b[:], c[:] = lift, 0.0

    def layer(self, number: int) -> list[Tensor]:
        """W, R and both biases of a layer."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self.rnn, f"{name}_l{number}") for name in names]

    def forward(self, seen: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Outputs and last memory for sequences (steps, rows, inputs); a memory that is not given is zero."""
        hidden, memory = self.rnn(seen * self.scale, memory)
        return self.head(hidden), memory

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, seen: Array, memory: Tensor | None) -> tuple[Array, Tensor]:
        """Outputs and next memory for one observation each."""
        outputs, memory = self(torch.tensor(seen, dtype=torch.float32)[None], memory)
        return outputs[0].double().numpy(), memory


# Learning -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sequences:
    """What pupils saw (steps, rows, inputs), what the teacher said, and whether the episode was still on."""

    seen: Tensor
    wanted: Tensor
    on: Tensor

    def rows(self, chosen: Tensor) -> Sequences:
        return Sequences(self.seen[:, chosen], self.wanted[:, chosen], self.on[:, chosen])


def join(several: Sequence[Sequences]) -> Sequences:
    return Sequences(*(torch.cat([getattr(one, part) for one in several], dim=1) for part in ("seen", "wanted", "on")))


def follow(lesson: Lesson, pupil: Pupil, n: int, seed: int, trust: float) -> Sequences:
    """Watch n copies, in which the pupil decides with this chance at each step, else its teacher."""
    many, random = lesson.copies(n, seed, lesson.lost), np.random.default_rng(seed)
    seen = many.reset(state=lesson.draw(n, random))
    over, memory, rows = np.zeros(n, bool), None, []
    for _ in range(lesson.steps):
        now, wanted = sight(seen), lesson.teach(many.state)
        rows.append((now, wanted, np.tile(~over, len(many.agents))))
        outputs, memory = pupil.step(now, memory)
        own = random.random((len(now), 1)) < trust
        seen, _, ended = many.step(lesson.act(many, np.where(own, outputs, wanted)))
        over |= ended
    return Sequences(*(torch.tensor(np.stack(part), dtype=torch.float32) for part in zip(*rows, strict=True)))


def loss_of(lesson: Lesson, outputs: Tensor, given: Sequences) -> Tensor:
    """Cross entropy against the chances the teacher's scores stand for, or the distance from what it said."""
    if lesson.sharpness:
        chances = torch.softmax(lesson.sharpness * given.wanted, dim=2)
        each = -(chances * torch.log_softmax(outputs, dim=2)).sum(dim=2)
    else:
        each = nn.functional.smooth_l1_loss(outputs, given.wanted, reduction="none").sum(dim=2)
    return (each * given.on).sum() / given.on.sum()


@dataclass(frozen=True)
class Schedule:
    """How long and how hard a pupil learns."""

    rounds: int = 12
    copies: int = 128
    updates: int = 120  # in each round
    batch: int = 64  # sequences in an update
    rate: float = 5e-3
    decay: float = 1e-4  # small weights keep bounds through time tight
    keep: int = 6  # rounds whose sequences are still learnt from


def learn(lesson: Lesson, pupil: Pupil, schedule: Schedule) -> Pupil:
    """Act, be corrected, learn, several times over; the best pupil there was, by its returns."""
    optimiser = torch.optim.AdamW(pupil.parameters(), schedule.rate, weight_decay=schedule.decay)
    total = schedule.rounds * schedule.updates
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, schedule.rate, total, pct_start=0.15, final_div_factor=100)
    best, record, watched, chance = pupil, -np.inf, list[Sequences](), torch.Generator().manual_seed(0)
    for number in range(schedule.rounds):
        trust = min(1.0, 2 * number / schedule.rounds)
        watched = [*watched, follow(lesson, pupil, schedule.copies, 1000 + number, trust)][-schedule.keep :]
        known = join(watched)
        for _ in range(schedule.updates):
            given = known.rows(torch.randint(known.seen.shape[1], (schedule.batch,), generator=chance))
            descend(pupil, optimiser, loss_of(lesson, pupil(given.seen)[0], given))
            rates.step()
        found = float(play(lesson, pupil.step, seed=1)[0].mean())
        print(f"  round {number + 1:2d}  mean return {found:.2f}", flush=True)
        if found >= record:
            best, record = copy.deepcopy(pupil), found
    return best


def descend(pupil: Pupil, optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step of the optimiser; long sequences can have steep gradients."""
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(pupil.parameters(), 1.0)
    optimiser.step()


# Files ----------------------------------------------------------------------------------------------------------------


def arrays(pupil: Pupil) -> dict[str, Array]:
    """The weights as they are written: each layer reads what it sees and what it remembers side by side."""
    found: dict[str, Array] = {}
    for layer in range(pupil.rnn.num_layers):
        W, R, b, c = (tensor.detach().double() for tensor in pupil.layer(layer))
        W = W * pupil.scale.double() if layer == 0 else W
        found |= {f"W{layer + 1}": torch.hstack([W, R]).numpy(), f"b{layer + 1}": (b + c).numpy()}
    found |= {"V": pupil.head.weight.detach().numpy(), "c": pupil.head.bias.detach().numpy()}
    return {name: array.astype(np.float32) for name, array in found.items()}


def write(pupil: Pupil, path: Path) -> None:
    """The policy as ONNX: `seen` and memories in, `out` and next memories out, any number of rows at once."""
    weights, layers = arrays(pupil), range(1, pupil.rnn.num_layers + 1)
    nodes, below = [], "seen"
    for i in layers:
        nodes.append(helper.make_node("Concat", [below, f"h{i}_in"], [f"x{i}"], axis=1))
        nodes.append(helper.make_node("Gemm", [f"x{i}", f"W{i}", f"b{i}"], [f"z{i}"], transB=1))
        nodes.append(helper.make_node("Relu", [f"z{i}"], [f"h{i}_out"]))
        below = f"h{i}_out"
    nodes.append(helper.make_node("Gemm", [below, "V", "c"], ["out"], transB=1))
    width = pupil.rnn.hidden_size
    given = {"seen": pupil.rnn.input_size, **{f"h{i}_in": width for i in layers}}
    made = {"out": pupil.head.out_features, **{f"h{i}_out": width for i in layers}}
    inputs, outputs = (
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", s]) for n, s in p.items()] for p in (given, made)
    )
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def compare(pupil: Pupil, path: Path, steps: int = 50) -> float:
    """The largest difference between the written and the trained policy along random sequences; rounding or a bug."""
    random, policy = np.random.default_rng(0), Policy(path)
    own, written, gap = None, None, 0.0
    for _ in range(steps):
        seen = random.normal(size=(20, pupil.rnn.input_size)) / pupil.scale.numpy()
        wanted, own = pupil.step(seen, own)
        found, written = policy(seen, written)
        gap = max(gap, float((np.abs(found - wanted) / (1 + np.abs(wanted))).max()))
    if gap > 1e-4:
        raise SystemExit(f"{path.name}: differs from the trained policy by {gap}")
    return gap


# Scripts --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Course:
    """A lesson for pupils of some size, the file of the one that passes, and what it takes to pass."""

    lesson: Lesson
    size: str  # "R16": one layer of 16 units; "R2x16": two
    least: float  # mean return
    scale: float | Sequence[float] = 1.0  # of what is seen
    gain: float = 4.0  # of changes; see Pupil
    lift: float = 0.0
    schedule: Schedule = Schedule()
    seed: int = 0
    original: Original | None = None

    def pupil(self) -> Pupil:
        """A pupil that knows nothing."""
        found = re.fullmatch(r"R(?:(\d+)x)?(\d+)", self.size)
        assert found, self.size
        many = self.lesson.copies(1, 0)
        inputs = sight(many.reset()).shape[1]
        torch.manual_seed(self.seed)
        outputs = self.lesson.teach(many.state).shape[1]
        scale = np.broadcast_to(self.scale, inputs).tolist()
        return Pupil(inputs, int(found[2]), int(found[1] or 1), outputs, scale, self.gain, self.lift)


def measure(course: Course, policy: Policy) -> dict[str, Any]:
    """Mean returns of the written policy, rounded, as they stand in the table."""
    lesson = course.lesson
    returns = play(lesson, policy)[0]
    row = {
        "units": course.size,
        "seeds": SEEDS,
        "world": lesson.world,
        "mean return": round(float(returns.mean()), 2),
        "worst return": round(float(returns.min()), 2),
        "random actions": round(float(play(lesson, at_random(policy.outputs))[0].mean()), 2),
    }
    if course.original:
        row[f"mean return in {course.original.name}"] = round(float(course.original.returns(policy).mean()), 2)
    return row


def train(courses: Mapping[str, Course], folder: Path) -> None:
    """Train the policies named on the command line, all if none is; write them and their returns into the folder."""
    parser = argparse.ArgumentParser(description="Train recurrent policies; weights and returns are written here.")
    parser.add_argument("names", nargs="*", choices=[[], *courses], help="policies (default: all)")
    parser.add_argument("--measure", action="store_true", help="only measure the policies that are there")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.names or courses:
        course, path = courses[name], folder / f"{name}.onnx"
        print(f"{name}: {course.size} in {course.lesson.world}", flush=True)
        if not arguments.measure:
            teach(course, path)
        enter(folder / "returns.json", path.name, measure(course, Policy(path)), course.least)


def teach(course: Course, path: Path) -> None:
    """One policy, from nothing to its file."""
    begin = time.process_time()
    pupil = learn(course.lesson, course.pupil(), course.schedule)
    write(pupil, path)
    seconds = time.process_time() - begin
    print(f"  {seconds:.0f} s; the file is within {compare(pupil, path):.0e} of what was trained", flush=True)


def enter(table: Path, name: str, row: Mapping[str, Any], least: float) -> None:
    """Write a policy's row into the table, unless it learnt too little."""
    print(f"  {row}", flush=True)
    if row["mean return"] < least:
        raise SystemExit(f"{name}: a mean return of {row['mean return']} where {least} is asked for")
    rows = json.loads(table.read_text()) if table.exists() else {}
    table.write_text(json.dumps({**rows, name: row}, indent=2, sort_keys=True) + "\n")
