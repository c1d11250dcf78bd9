"""`vernal verify`: answer a network query in the form of the VNN-LIB standard and VNN-COMP."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli.clock import started
from vernal.cli.options import EngineName, Limits, MemoryLimit, Quiet, Seed, Timeout, Workers
from vernal.cli.progress import Live
from vernal.cli.stream import say
from vernal.errors import InputError

if TYPE_CHECKING:
    from vernal.formats.vnnlib.query import Query
    from vernal.queries.verify import Answer

EXAMPLES = """\b
Examples:
  vernal verify prop_3.vnnlib --network N=acasxu.onnx --timeout 60
  vernal verify safe.vnnlib --network controller=controller.onnx --engine bounds

\b
The first line on stdout is sat, unsat, unknown or timed-out; after sat comes the assignment. Reasons go to stderr.
Exit code: 0 with any of these answers, 2 for a query or network that is wrong or not supported.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", short_help="Answer a network query (VNN-LIB).", epilog=EXAMPLES)(verify)


def verify(
    query: Annotated[Path, typer.Argument(metavar="QUERY", help="The query (VNN-LIB 1 or 2.0).", show_default=False)],
    network: Annotated[
        list[str] | None,
        typer.Option("--network", metavar="N=F.onnx", help="The file of the network the query calls N."),
    ] = None,
    timeout: Timeout = None,
    engine: EngineName = "auto",
    memory: MemoryLimit = None,
    workers: Workers = 1,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Answer a network query: is there an input for which all assertions are true?

    Reasoning is over the reals. A sat is checked in exact arithmetic, and by onnxruntime where that is installed.
    """
    from vernal.formats.vnnlib.reader import read_query
    from vernal.queries.model import load_model
    from vernal.queries.verify import verify as answer_query

    limits = Limits(engine, timeout=timeout, memory=memory, workers=workers, seed=seed)
    limits.check()
    read = read_query(query)
    model = load_model(read, network_file(read, network or ()))
    with Live("verify", quiet=quiet) as live:
        answer = answer_query(read, model, limits.budget(started(), live), engine)
    typer.echo("\n".join([answer.status.value, *assignment(read, answer)]))
    for remark in (answer.reason, *answer.notes):
        if remark and not quiet:
            say(remark)


def network_file(query: Query, given: Sequence[str]) -> str:
    """The one file for the one network; VNN-LIB 1 does not name it, so any name will do there."""
    wanted = query.network or "N"
    if len(given) != 1:
        raise InputError(f"a query is about one network, not {len(given)}; say --network {wanted}=FILE.onnx once")
    name, equals, file = given[0].partition("=")
    if not equals or not name or not file:
        raise InputError(f"--network wants a name and a file, as in --network {wanted}=FILE.onnx, not {given[0]!r}")
    if query.network is not None and name != query.network:
        raise InputError(f"the query declares no network {name!r}; its network is {query.network!r}")
    return file


def assignment(query: Query, answer: Answer) -> list[str]:
    """The values found: a list of pairs for VNN-LIB 1, tensor by tensor for VNN-LIB 2."""
    from vernal.queries.verify import decimal

    if answer.values is None:
        return []
    digits = [decimal(value) for value in answer.values]
    if query.version == "1":
        pairs = [f"({name} {value})" for name, value in zip(query.names, digits, strict=True)]
        return ["(" + "\n ".join(pairs) + ")"]
    lines: list[str] = []
    for tensor in (query.input, query.output):
        shape = ",".join(map(str, tensor.shape or ()))
        lines += [f"{tensor.name} {tensor.sort} [{shape}]", *digits[: tensor.size]]
        digits = digits[tensor.size :]
    return lines
