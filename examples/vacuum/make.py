"""Make the vacuum robot: its policy, and its task for a floor of any size.

    python examples/vacuum/make.py

writes vacuum.onnx and vacuum.toml (three by three cells) beside this file. The policy has one hidden layer, chosen by
hand: it cleans where it stands, and else goes where most dirt is. After a move along a row it would rather change rows,
and the other way round.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SIZE = (3, 3)  # columns and rows
SEEN = ("here", "west", "east", "south", "north", "along", "across")  # what the network is given
ACTIONS = ("CLEAN", "WEST", "EAST", "SOUTH", "NORTH")
RATHER = 0.5  # how much it counts to turn


def layers() -> list[tuple[np.ndarray, np.ndarray]]:
    """The hidden layer hands on what it is given; scores are amounts of dirt, ten times where the robot stands."""
    second = np.zeros((len(ACTIONS), len(SEEN)))
    second[0, 0] = 10
    second[range(1, 5), range(1, 5)] = 1
    second[1:3, 6] = RATHER  # having gone across, go along
    second[3:5, 5] = RATHER
    return [(np.eye(len(SEEN)), np.zeros(len(SEEN))), (second, np.zeros(len(ACTIONS)))]


def write_network(path: Path) -> None:
    """The network as ONNX: Gemm, Relu, Gemm."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights, nodes = [], []
    for index, pair in enumerate(layers()):
        weights += [
            numpy_helper.from_array(a.astype(np.float32), f"{n}{index}") for n, a in zip("Wb", pair, strict=True)
        ]
    nodes.append(helper.make_node("Gemm", ["input", "W0", "b0"], ["hidden"], transB=1))
    nodes.append(helper.make_node("Relu", ["hidden"], ["active"]))
    nodes.append(helper.make_node("Gemm", ["active", "W1", "b1"], ["output"], transB=1))
    sizes = {"input": len(SEEN), "output": len(ACTIONS)}
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", size]) for n, size in sizes.items()]
    graph = helper.make_graph(nodes, "vacuum", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


def task(columns: int, rows: int) -> str:
    """The task for a floor of so many columns and rows: columns * rows * 2^(columns * rows) * 3 states, at most."""
    cells = [(x, y) for y in range(rows) for x in range(columns)]
    dirt = {cell: f"d{cell[0]}{cell[1]}" for cell in cells}
    state = [f'{name} = "bool"' for name in dirt.values()]
    init = [f'{name} = "{{true, false}}"' for name in dirt.values()]
    gone = [f'{name} = "{name} & !(robot == CLEAN & x == {x} & y == {y})"' for (x, y), name in dirt.items()]
    counts = {
        "here": " + ".join(f"if({d} & x == {x} & y == {y}, 1, 0)" for (x, y), d in dirt.items()),
        "west": " + ".join(f"if({d} & x > {x}, 1, 0)" for (x, _), d in dirt.items()),
        "east": " + ".join(f"if({d} & x < {x}, 1, 0)" for (x, _), d in dirt.items()),
        "south": " + ".join(f"if({d} & y > {y}, 1, 0)" for (_, y), d in dirt.items()),
        "north": " + ".join(f"if({d} & y < {y}, 1, 0)" for (_, y), d in dirt.items()),
    }
    return TEMPLATE.format(
        columns=columns,
        rows=rows,
        last_column=columns - 1,
        last_row=rows - 1,
        state="\n".join(state),
        init="\n".join(init),
        gone="\n".join(gone),
        clean=" & ".join(f"!{name}" for name in dirt.values()),
        lets="\n".join(f'{name} = "{text}"' for name, text in counts.items()),
    )


TEMPLATE = """\
#:schema ../task.schema.json
# A vacuum robot on {columns} by {rows} cells, each dirty or clean; written by make.py.
vernal = 1
name = "vacuum"

[state]
x = "int [0, {last_column}]"
y = "int [0, {last_row}]"
last = "enum {{CLEANING, ALONG, ACROSS}}"    # what it did last
{state}

[init]                                     # anywhere, and anything may be dirty
x = "[0, {last_column}]"
y = "[0, {last_row}]"
last = "{{CLEANING, ALONG, ACROSS}}"
{init}

[agents.robot]                             # ties between its scores may be broken either way
policy = "vacuum.onnx"
observe = ["here", "west", "east", "south", "north", "if(last == ALONG, 1, 0)", "if(last == ACROSS, 1, 0)"]
act = "argmax"
labels = ["CLEAN", "WEST", "EAST", "SOUTH", "NORTH"]

[environment.let]                          # how many dirty cells there are, here and on each side
{lets}
clean = "{clean}"

[environment.next]
x = "clip(x + match(robot, WEST: -1, EAST: 1, _: 0), 0, {last_column})"
y = "clip(y + match(robot, SOUTH: -1, NORTH: 1, _: 0), 0, {last_row})"
last = "match(robot, CLEAN: CLEANING, WEST: ALONG, EAST: ALONG, _: ACROSS)"
{gone}

[properties]
can_clean = "AG EF clean"
will_clean = "F clean"
soon_clean = "F[0,20] clean"
stays_clean = "AG (clean -> AG clean)"
"""


if __name__ == "__main__":
    write_network(HERE / "vacuum.onnx")
    (HERE / "vacuum.toml").write_text(task(*SIZE))
