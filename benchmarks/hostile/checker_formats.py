"""What `vernal-check` reads: certificates, and with readers of its own tasks, planning models and networks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

import vernal as vn
from benchmarks.hostile.format_seeds import FormatSeeds, K
from benchmarks.hostile.mutate import mutated
from benchmarks.hostile.structured import IN_JSON, Mutation, either
from benchmarks.learning import onnx_chain
from vernal.queries.query_certificate import QueryCertificate
from vernal_check import clock, jani, nnet, onnx, seconds, sorts, syntax, task
from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable
from vernal_check.graph import Graph, SetNode
from vernal_check.system import System
from vernal_check.vnnlib import Query

SECONDS, FLOW_SECONDS = 2.0, 5.0  # of one file
Read = Callable[[Path], object]


def checker_formats(seeds: FormatSeeds) -> Mapping[str, tuple[Sequence[Path], Mutation, Read]]:
    """Proper files, how they are changed, and how one is read."""
    *proper, shaped = certificates(seeds)
    return {
        "certificate": (proper, mutated, checked(check)),
        "certificate with forms": ([shaped], mutated, checked(check)),
        "certificate of a query": ([query_certificate(seeds)], mutated, checked(check)),
        "certificate with a graph": ([graph_certificate(seeds)], mutated, checked(check)),
        "query, by vernal-check": _read(seeds.queries, mutated, lambda file: Query(file.read_bytes()).alternatives()),
        "task, by vernal-check": _read(seeds.tasks, mutated, _task),
        "flow, by vernal-check": ([flow(seeds.folder)], mutated, checked(_follow, FLOW_SECONDS)),
        "JANI model, by vernal-check": _read(seeds.models, either(IN_JSON, mutated), _plan),
        "ONNX, by vernal-check": _read(seeds.networks["onnx"], mutated, lambda file: onnx.read(file.read_bytes())),
        "NNet, by vernal-check": _read(seeds.networks["nnet"], mutated, lambda file: nnet.read(file.read_bytes())),
    }


def _read(files: Sequence[Path], mutation: Mutation, read: Read) -> tuple[Sequence[Path], Mutation, Read]:
    """Those of the files that `vernal-check` reads as they are."""
    good = []
    for file in files:
        with contextlib.suppress(vn.InputError):
            checked(read)(file)
            good.append(file)
    return good, mutation, checked(read)


def certificates(seeds: FormatSeeds) -> list[Path]:
    """Certificates of single states and of a set that is followed, and one with rows, a condition and an induction.

    The last one has these forms for mutations to change, and shows nothing: it is rejected as it is.
    """
    states, followed = seeds.folder / "states.certificate", seeds.folder / "followed.certificate"
    vn.check(seeds.folder / "corridor.toml", "G[0,3] (at <= 3)", engine="explicit", certificate=states)
    vn.check(seeds.folder / "room.toml", "G[0,2] (T <= 100)", engine="bounds", certificate=followed)
    shaped = seeds.folder / "shaped.certificate"
    head, first, *_ = map(json.loads, followed.read_text().splitlines())
    cells, row = first["set"], [*([0] * len(first["set"])), 1]
    forms: list[dict[str, object]] = [
        {"rows": [row, row]},
        {"where": "T <= 100 | (T > 2 & T < 1)"},
        {"walk": True, "induction": 2, "after": 1},
    ]
    lines = [head, *({"set": cells, "to": ["3"], "name": str(n), **more} for n, more in enumerate(forms, 2))]
    shaped.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return [states, followed, shaped]


def query_certificate(seeds: FormatSeeds) -> Path:
    """The tree of a query about |x|, with cuts and hints."""
    network, query = seeds.folder / "absolute.onnx", seeds.folder / "absolute.vnnlib"
    layers = [(np.array([[1.0], [-1.0]]), np.zeros(2)), (np.array([[1.0, 1.0]]), np.zeros(1))]
    network.write_bytes(onnx_chain(layers, "Relu", "absolute"))
    declared = "(declare-const X_0 Real) (declare-const Y_0 Real)"
    query.write_text(f"{declared} (assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= Y_0 1.5))")
    file = seeds.folder / "absolute.certificate"
    QueryCertificate(query, network, [[0, -1, None, ["f7", 0.5], ["", 1]]]).save(file)
    return file


def graph_certificate(seeds: FormatSeeds) -> Path:
    """A certificate of a task made in Python."""
    file = seeds.folder / "graph.certificate"
    system = vn.System(
        state={"x": vn.real(-5, 5)},
        init={"x": vn.interval(0, 1)},
        step=lambda s: {"x": s.x / 2 + vn.choose(0, 1)},
    )
    vn.check(system, "G[0,3] (x <= 2)", certificate=file)
    return file


def checked(read: Read, seconds: float = SECONDS) -> Read:
    """What `vernal-check` says is none of our errors, so it is made one."""

    def reader(file: Path) -> object:
        clock.limit(seconds)
        try:
            return read(file)
        except (Rejected, Unreadable) as why:
            raise vn.InputError(str(why)) from None
        finally:
            clock.limit(None)

    return reader


def _task(file: Path) -> None:
    _sorts(task.load(file, file.read_bytes(), {}, {}))


def flow(folder: Path) -> Path:
    """A flow with quotients, powers, roots and curves."""
    file = folder / "flow_to_follow.toml"
    rates = '[flow]\nx = "-sin(x) * exp(x) / (2 + x^3) + w"\n'
    state = 'vernal = 1\n[state]\nx = "real [-2, 2]"\n[init]\nx = "[0.4, 0.5]"\n'
    file.write_text(f'{state}{rates}[flow.let]\nw = "x^(1/3) - 2 / 3"\n[properties]\nsafe = "G[0, 1e-2] (x <= 1)"\n')
    return file


def _follow(file: Path) -> None:
    """Follow a flow from its initial states for its first claim."""
    made = task.load(file, file.read_bytes(), {}, {})
    system = System(made)
    claim = syntax.expression(next(iter(made.properties.values()), "G[0, 1] true"))
    sorts.check(made, system.scope_of_constants(), claim)
    timed = seconds.Timed(claim, system.scope_of_constants())
    starts = [place.region for place in system.starts()]
    nodes = [SetNode(str(number), region, walk=True) for number, region in enumerate(starts)]
    seconds.check(Graph(system, nodes, timed), range(len(nodes)), timed)


def _plan(file: Path) -> None:
    constants = {name: Fraction(value) for name, value in K.items()}
    options = {"property": "pa.jani#0"}
    _sorts(jani.load(file.read_bytes(), file.parent, lambda name: file.parent / name, constants, options))


def _sorts(read: task.Task) -> None:
    sorts.check(read, System(read).scope_of_constants(), syntax.expression("true"))
