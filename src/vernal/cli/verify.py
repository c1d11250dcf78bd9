"""`vernal verify`: answer a network query in the form of the VNN-LIB standard and VNN-COMP."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vernal.cli import exits
from vernal.cli.clock import started
from vernal.cli.options import DeviceName, EngineName, Limits, MemoryLimit, OnPlace, Quiet, Seed, Timeout, option
from vernal.cli.progress import Live
from vernal.cli.stream import refuse_overwriting, say, show
from vernal.errors import InputError, VernalError
from vernal.report.csv_cells import write_rows

if TYPE_CHECKING:
    from vernal.formats.vnnlib.query import Query
    from vernal.queries.answer import Answer
    from vernal.queries.files import AnsweredQuery, QueryInstance

EXAMPLES = """\b
Examples:
  vernal verify prop_3.vnnlib acasxu.onnx --timeout 60
  vernal verify safe.vnnlib --network controller=controller.onnx --engine bounds
  vernal verify --list instances.csv                      many, one line each: answer,seconds,network,query

\b
The first line on stdout is sat, unsat, unknown or timed-out; after sat comes the assignment. Reasons go to stderr.
Exit code: 0 with any of these answers, 2 for a query or network that is wrong or not supported.
"""


ERROR = "error"  # the answer to a question of a list that cannot be read


def verify(
    query: Annotated[
        Path | None, typer.Argument(metavar="QUERY", help="The query (VNN-LIB 1 or 2.0).", show_default=False)
    ] = None,
    network_path: Annotated[
        str | None, typer.Argument(metavar="NETWORK", help="The file of its network.", show_default=False)
    ] = None,
    network: Annotated[
        list[str] | None, option("--network N=F.onnx", "The file of the network the query calls N.")
    ] = None,
    instances: Annotated[
        Path | None, option("--list FILE", "Answer many queries: a file of lines network,query,seconds.")
    ] = None,
    certificate: Annotated[
        Path | None, option("--certificate FILE", "Write a certificate of unsat, for `vernal-check`.")
    ] = None,
    timeout: Timeout = None,
    engine: EngineName = "auto",
    memory: MemoryLimit = None,
    workers: Annotated[int | None, option("--workers N", "How many processes may be used.")] = None,
    on: OnPlace = None,
    seed: Seed = 0,
    device: DeviceName = "cpu",
    quiet: Quiet = False,
) -> None:
    """Answer a network query: is there an input for which all assertions are true?

    Reasoning is over the reals. A sat is checked in exact arithmetic, and by onnxruntime where that is installed.
    """
    limits = Limits(engine, timeout=timeout, memory=memory, workers=workers, on=on, seed=seed, device=device)
    limits.check()
    if limits.place.is_remote:
        raise InputError(f"queries are answered where their files are: --on here or --on workers, not {on}")
    if (query is None) == (instances is None):
        raise InputError("say which query: vernal verify QUERY NETWORK, or many of them with --list FILE")
    if query is not None:
        _one(query, [*([network_path] if network_path else ()), *(network or ())], limits, quiet, certificate)
    elif instances is not None:
        if certificate is not None:
            raise InputError("--certificate belongs to one query, not to a list of them")
        if network:
            raise InputError("--network belongs to one query; the lines of --list name their networks")
        _many(instances, limits, quiet)


def _one(query: Path, networks: Sequence[str], limits: Limits, quiet: bool, certificate: Path | None) -> None:
    from vernal.queries.files import answer_files

    if certificate is not None:
        refuse_overwriting([certificate], [query, *(Path(network.rpartition("=")[2]) for network in networks)])
    with Live("verify", quiet=quiet) as live:
        budget = replace(limits.budget(started(), live), keeps_sets=certificate is not None)
        found = answer_files(query, lambda read: network_file(read, networks), budget, limits.engine)
    values = [] if found.query is None else assignment(found.query, found.answer)
    show("\n".join([found.answer.status.value, *values]))
    _remark(found.answer, quiet)
    if certificate is not None:
        _certify(query, found, networks, certificate)


def _certify(query: Path, found: AnsweredQuery, networks: Sequence[str], certificate: Path) -> None:
    """The certificate of an answer, or why there is none."""
    from vernal.queries.query_certificate import QueryCertificate, refusal

    network = Path("") if found.query is None else Path(network_file(found.query, networks))
    why = refusal(found.query, found.answer, network)
    if why is not None:
        say(f"uncertified: {why}")
        return
    QueryCertificate(query, network, found.answer.trees or ()).save(certificate)
    say(f"certificate written to {certificate}    check: vernal-check {certificate}")


def _remark(answer: Answer, quiet: bool, about: str = "") -> None:
    for remark in (answer.reason, *answer.notes):
        if remark and not quiet:
            say(f"{about}{remark}")


def _many(path: Path, limits: Limits, quiet: bool) -> None:
    """One line for each question, as soon as it is answered; one that cannot be read is an `error`."""
    from vernal.queries.files import read_list

    wrong = False
    instances = read_list(path)
    if limits.place.spreads and len(instances) > 1:
        wrong = _spread(instances, limits, quiet)
        instances = []
    for instance in instances:
        start = time.monotonic()
        status = _answered(instance, limits, quiet)
        wrong = wrong or status == ERROR
        _line(status, f"{time.monotonic() - start:.3f}", str(instance.network), str(instance.query))
    if wrong:
        raise typer.Exit(exits.BAD_INPUT)


def _spread(instances: Sequence[QueryInstance], limits: Limits, quiet: bool) -> bool:
    """The same by a pool; whether any could not be read."""
    from vernal.queries.query_jobs import answer_list
    from vernal.run.budget import silent

    wrong = False
    found = answer_list(instances, limits.engine, limits.budget(time.monotonic(), silent))
    for instance, one in zip(instances, found, strict=True):
        wrong = wrong or one.answer is None
        if one.answer is None:
            say(f"error: {one.error}")
        else:
            _remark(one.answer, quiet, f"{instance.query}: ")
        status = ERROR if one.answer is None else one.answer.status.value
        _line(status, f"{one.seconds:.3f}", str(instance.network), str(instance.query))
    return wrong


def _answered(instance: QueryInstance, limits: Limits, quiet: bool) -> str:
    """The answer to one question of a list, or `error` with a message."""
    from vernal.queries.files import answer_files

    given = [seconds for seconds in (instance.limit, limits.timeout) if seconds is not None]
    own = replace(limits, timeout=min(given, default=None))
    try:
        with Live("verify", quiet=quiet) as live:
            budget = own.budget(time.monotonic(), live)
            answer = answer_files(instance.query, lambda _: instance.network, budget, own.engine).answer
    except VernalError as error:
        say(f"error: {error}")
        return ERROR
    _remark(answer, quiet, f"{instance.query}: ")
    return answer.status.value


def _line(*fields: str) -> None:
    """A row of a table with commas, flushed: whoever reads along sees it now."""
    write_rows(sys.stdout, [fields])
    sys.stdout.flush()


def network_file(query: Query, given: Sequence[str]) -> str:
    """The one file for the one network, with or without the name the query has for it; VNN-LIB 1 has none."""
    wanted = query.network or "N"
    if len(given) != 1:
        raise InputError(f"a query is about one network, not {len(given)}; say --network {wanted}=FILE.onnx once")
    name, equals, file = given[0].partition("=")
    if not equals or Path(given[0]).exists():
        return given[0]
    if not name or not file:
        raise InputError(f"--network wants a name and a file, as in --network {wanted}=FILE.onnx, not {given[0]!r}")
    if query.network is not None and name != query.network:
        raise InputError(f"the query declares no network {name!r}; its network is {query.network!r}")
    return file


def assignment(query: Query, answer: Answer) -> list[str]:
    """The values found: a list of pairs for VNN-LIB 1, tensor by tensor for VNN-LIB 2."""
    from vernal.queries.witness_points import decimal

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
