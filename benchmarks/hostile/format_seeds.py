"""Proper files of every format that Vernal reads, each in a folder with what it names."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import zipfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

import vernal as vn
from benchmarks.hostile.flow_seeds import FLOW_FORMULAS
from benchmarks.hostile.seeds import FORMULAS, Seeds
from tests.jani_models import write_planning_files
from tests.tree_samples import classifier, dumped_by_xgboost, random_tree, saved_by_xgboost
from vernal.formats.convert import write_network
from vernal.formats.recurrent import rnn

ROOT = Path(__file__).parent.parent.parent
SAVED = ROOT / "tests/formats/sb3/models"
PLANNING = 6  # models that are drawn
CORRIDOR = """vernal = 1
[parameters]
n = 4
[state]
at = "int [0, n - 1]"
light = "bool[n]"
mood = "enum {CALM, GLAD}"
[init]
at = "{0, 1}"
light = "[i == 0 for i in 0..n-1]"
mood = "{CALM, GLAD}"
where = ["at < 1 | mood == GLAD"]
[environment]
enabled = "!all(light)"
[environment.let]
move = "choose(1 when at < n - 1, -1 when at > 0, 0)"
[environment.next]
at = "clip(at + move, 0, n - 1)"
light = "[light[i] | i == at for i in 0..n-1]"
mood = "match(mood, CALM: if(at > 1, GLAD, CALM), GLAD: choose(CALM, GLAD))"
[properties]
few = "G[0,6] (count(light) <= at + 2)"
last = "AG EF (light[n - 1] | mood == GLAD)"
"""
REMEMBERS = """vernal = 1
name = "remembers"
[state]
x = "real [-2, 2]"
[init]
x = "[0, 0.5]"
[agents.pilot]
policy = "rnn.onnx"
observe = ["x", "x^2"]
act = ["clip(out[0], -1, 1)"]
memory = [0, "[-0.1, 0.1]"]
remember = "m"
[environment.next]
x = "x / 2 + pilot / 4 + between(-0.1, 0.1)"
[properties]
small = "G[0,3] (abs(m[0]) <= 5 & abs(x) < 3)"
"""
TURNS = """vernal = 1
[state]
x = "real"
y = "real"
[init]
x = "[-0.5, 0.5]"
y = "[-0.5, 0.5]"
[environment.next]
x = "0.6*x - 0.6*y"
y = "0.6*x + 0.6*sin(y)"
"""
WORLD = """vernal = 1
[state]
x = "real"
[agents.driver]
observe = ["x", "x"]
labels = ["LEFT", "RIGHT"]
[environment.next]
x = "x / 2 + match(driver, LEFT: -1, RIGHT: 1)"
[init]
x = "[-1, 1]"
"""
DRIVEN = """vernal = 1
world = "world.toml"
[agents.driver]
policy = "net.onnx"
[properties]
near = "G[0,3] (abs(x) <= 3)"
"""
QUERY_2 = """(vnnlib-version <2.0>)
(declare-network N (declare-input X Real [1,2]) (declare-output Y Real [1,2]))
(assert (and (>= X[0,0] 15.0) (<= X[0,0] 22.0) (>= X[0,1] 0) (<= X[0,1] 1)))
(assert (or (<= (+ Y[0,0] (* 2.0 Y[0,1])) -100) (and (>= Y[0,0] Y[0,1]) (<= X[0,0] 16.5))))
"""
INSTANCES = """net.onnx,query.vnnlib,10
# two more
"[('f', 'net.onnx')]",query.vnnlib,2.5
net.nnet,query.vnnlib
"""
LAYERS = """activations: {1: Tanh, 2: Linear}
offsets:
  1: [0.5, -1.25]
  2: [0.75, 0.0]
weights:
  1:
  - [1.0, 2.0]
  - [-0.5, 0.25]
  2:
  - [1.0, -1.0]
  - - 0.5
    - 1e-3
"""
PREDICATES = 'predicates = ["at <= 1", "light[0]", "mood == GLAD", "at + 1 < 3 | light[1]"]\n'
JANI_PREDICATES = """[{"op": "≤", "left": "at", "right": 1},
 {"op": "<", "left": {"op": "+", "left": "at", "right": 1}, "right": 3}]
"""
POLICY = 'file = "net.onnx"\ninput = ["x-0", "x-0"]\noutput = ["a", "b"]\nfilter = true\n'
SETTINGS = ["2", "1/3", "2 * 3", "min(4, 7)", "-0.5", "1e3"]
AXES = ["k=1..6", "warmth=0..1..0.1", "k=1,2,4..6", "warmth=-0.5,1/2,0.25"]

MAPPED = "G[0,4] (T <= 20)"
K = {"K": 2}  # the constant that drawn models leave open


@dataclass(frozen=True)
class FormatSeeds:
    """Files in a folder that has what they name beside them."""

    folder: Path
    tasks: Sequence[Path]
    worlds: Sequence[Path]
    networks: dict[str, Sequence[Path]]
    queries: Sequence[Path]
    lists: Sequence[Path]
    models: Sequence[Path]  # of planning, each in a folder with `pa.jani` and perhaps `policy.jani2nnet`
    predicates: Sequence[Path]
    automata: Sequence[Path]
    configs: Sequence[Path]
    evidence: dict[str, Sequence[Path]]
    journals: Sequence[Path]
    maps: Sequence[Path]
    texts: dict[str, Sequence[Path]]


def plant_formats(folder: Path, seeds: Seeds) -> FormatSeeds:
    """Write them all below a folder; the seeds of the commands are a part of them."""
    folder.mkdir(parents=True, exist_ok=True)
    config = seeds.flows.automata[0].with_suffix(".cfg")
    for file in (*seeds.networks, seeds.query, *seeds.flows.automata, config, seeds.journal):
        shutil.copy(file, folder)
    _recurrent(folder / "rnn.onnx")
    tasks = [_copied(task, folder) for task in (*seeds.tasks, *seeds.flows.tasks, seeds.scaled, seeds.flows.scaled)]
    made = {"corridor": CORRIDOR, "remembers": REMEMBERS, "turns": TURNS}
    tasks += [_written(folder, f"{name}.toml", text) for name, text in made.items()]
    world, driven = _written(folder, "world.toml", WORLD), _written(folder, "driven.toml", DRIVEN)
    return FormatSeeds(
        folder,
        [*tasks, driven],
        [world],
        _networks(folder),
        [folder / seeds.query.name, _written(folder, "query2.vnnlib", QUERY_2)],
        [_written(folder, "instances.csv", INSTANCES)],
        [_planning(folder, seed) for seed in range(PLANNING)],
        [_written(folder, "predicates.toml", PREDICATES), _written(folder, "predicates.json", JANI_PREDICATES)],
        [folder / file.name for file in seeds.flows.automata],
        [folder / config.name],
        _evidence(folder),
        [folder / seeds.journal.name],
        [_mapped(folder)],
        _texts(folder),
    )


def _copied(task: Path, folder: Path) -> Path:
    """A task beside its networks."""
    for network in task.parent.glob("*.onnx"):
        shutil.copy(network, folder)
    shutil.copy(task, folder)
    return folder / task.name


def _written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def _networks(folder: Path) -> dict[str, Sequence[Path]]:
    packed = folder / "net.onnx.gz"
    packed.write_bytes(gzip.compress((folder / "net.onnx").read_bytes(), mtime=0))
    shutil.copy(folder / "net.h5", folder / "net.keras")
    saved = [Path(shutil.copy(file, folder)) for file in sorted(SAVED.glob("*.zip"))]
    statistics = Path(shutil.copy(SAVED / "normalised.pkl", folder))
    whole = [folder / "net.onnx", folder / "rnn.onnx", _with_data(folder), _forest(folder), _quantised(folder)]
    whole += [Path(shutil.copy(file, folder)) for file in (ROOT / "examples" / "flock").glob("*.onnx")]  # attention
    whole += folder.glob("thermostat.onnx")
    kept: dict[str, Sequence[Path]] = {
        "onnx": whole,
        "gz": [packed],
        "nnet": [folder / "net.nnet"],
        "h5": [folder / "net.h5"],
        "mat": _matlab(folder),
        "yml": [_written(folder, "net.yml", LAYERS)],
        "json": _boosted(folder),
    }
    with zipfile.ZipFile(saved[0]) as archive:
        (folder / "policy.pth").write_bytes(archive.read("policy.pth"))
    others = {"keras": [folder / "net.keras"], "zip": saved, "pkl": [statistics], "pth": [folder / "policy.pth"]}
    return {**kept, **others}


def _boosted(folder: Path) -> list[Path]:
    """A few trees as XGBoost saves them, and as it dumps them."""
    rng = random.Random(0)
    trees = [random_tree(rng, 3, 2, 1, modes=["BRANCH_LT"]) for _ in range(4)]
    dumped = json.dumps([dumped_by_xgboost(tree) for tree in trees])
    saved = json.dumps(saved_by_xgboost(trees, 2, 2, "multi:softprob"))
    return [_written(folder, "saved.json", saved), _written(folder, "dumped.json", dumped)]


def _forest(folder: Path) -> Path:
    """A classifier of a few trees."""
    rng = random.Random(1)
    made = classifier([random_tree(rng, 3, 2, 3) for _ in range(4)], 2, 3)
    (folder / "forest.onnx").write_bytes(made.SerializeToString())
    return folder / "forest.onnx"


def _quantised(folder: Path) -> Path:
    """A layer of integers between two pairs to a grid and back."""
    names = {"s": np.float32(0.25), "z": np.int8(-3), "W_q": np.arange(-6, 6, dtype=np.int8).reshape(2, 6)}
    pairs = (("QuantizeLinear", "x", "a"), ("DequantizeLinear", "a", "b"))
    nodes = [onnx.helper.make_node(op, [given, "s", "z"], [made]) for op, given, made in pairs]
    nodes += [
        onnx.helper.make_node("DequantizeLinear", ["W_q", "s", "z"], ["W"]),
        onnx.helper.make_node("MatMul", ["b", "W"], ["y"]),
    ]
    ends = [onnx.helper.make_tensor_value_info(name, 1, [1, size]) for name, size in (("x", 2), ("y", 6))]
    weights = [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in names.items()]
    graph = onnx.helper.make_graph(nodes, "quantised", ends[:1], ends[1:], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    (folder / "quantised.onnx").write_bytes(model.SerializeToString())
    return folder / "quantised.onnx"


def _matlab(folder: Path) -> list[Path]:
    """Two layers as cells, plain and compressed."""
    import scipy.io

    chance, made = np.random.default_rng(0), {}
    for name, shapes in (("W", [(6, 2), (2, 6)]), ("b", [(6, 1), (2, 1)])):
        made[name] = np.empty((1, 2), dtype=object)
        made[name][0, :] = [chance.normal(size=shape) for shape in shapes]
    files = [folder / "net.mat", folder / "packed.mat"]
    for file, packed in zip(files, (False, True), strict=True):
        scipy.io.savemat(file, {**made, "act_fcns": np.array(["relu", "linear"])}, do_compression=packed)
    return files


def _with_data(folder: Path) -> Path:
    """The first network with its weights in a file beside it."""
    file = folder / "apart.onnx"
    model = onnx.load(folder / "net.onnx")
    onnx.save_model(model, file, save_as_external_data=True, location="apart.data", size_threshold=0)
    return file


def _recurrent(file: Path) -> None:
    """Two ReLU units that see two numbers."""
    cell = (np.array([[1.0, -1.0], [0.5, 0.25]]), np.array([[0.5, 0.0], [0.0, -0.5]]), np.array([0.1, 0.2]))
    write_network(rnn([cell], [(np.array([[1.0, -1.0]]), np.array([0.0]))]), file)


def _planning(folder: Path, seed: int) -> Path:
    """A drawn model in a folder of its own, with an interface in TOML beside the one in JSON."""
    own = folder / f"model{seed}"
    own.mkdir(exist_ok=True)
    made = write_planning_files(seed, own)
    shutil.copy(folder / "net.onnx", own)
    _written(own, "policy.toml", POLICY)
    return made.model


def _mapped(folder: Path) -> Path:
    """A map with cells of several kinds, and a path of one."""
    file = folder / "room.map.json"
    read_room_map(folder, file)
    return file


def read_room_map(folder: Path, file: Path) -> vn.RegionMap:
    """Go on with a map of the first task, or make it."""
    return vn.map(folder / "room.toml", MAPPED, over={"T": (15, 30)}, cells=16, output=file, timeout=20)


def _texts(folder: Path) -> dict[str, Sequence[Path]]:
    texts = {"formula": FORMULAS, "flow formula": FLOW_FORMULAS, "setting": SETTINGS, "axis": AXES}
    return {
        kind: [_written(folder, f"{kind.replace(' ', '_')}{i}.txt", text) for i, text in enumerate(own)]
        for kind, own in texts.items()
    }


# Evidence -------------------------------------------------------------------------------------------------------------

EVIDENCE = {  # kind of file, task, claim, engine
    "trace": [("room", "G[0,4] (T <= 20)", "falsify"), ("corridor", "G[0,4] !light[3]", "explicit")],
    "lasso": [("corridor", "F (light[3])", "lasso")],
    "tree": [("corridor", "EF (mood == GLAD & light[2] & at == 0 & !light[1])", "explicit")],
    "invariant": [("turns", "G (x <= 2)", "invariants"), ("corridor", "G (at <= 3)", "invariants")],
    "tree with an invariant": [("turns", "EF (x >= 2)", "invariants")],
    "trajectory": [("jet", "G[0, 0.5] (y <= 0)", "falsify")],
}


def _evidence(folder: Path) -> dict[str, Sequence[Path]]:
    return {kind: [_shown(folder, kind, *claim) for claim in claims] for kind, claims in EVIDENCE.items()}


def _shown(folder: Path, kind: str, task_name: str, claim: str, engine: str) -> Path:
    """The evidence of an engine for a claim, in a file beside its task."""
    file = folder / f"{task_name}.{kind.replace(' ', '_')}.json"
    task = vn.load(folder / f"{task_name}.toml")
    with redirect_stdout(io.StringIO()):
        result = vn.check(task, claim, engine=engine, timeout=30)
    assert result.evidence is not None, f"{claim} of {task_name} has no evidence by {engine}: {result}"
    assert result.evidence.kind == kind.split()[0].replace("trajectory", "trace"), result.evidence.kind
    vn.write_evidence(task, result, file)
    return file
