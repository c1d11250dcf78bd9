"""The tables: the paper's Table 1 beside ours, spread over seeds, error over size, growth, and unsafe variants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean

from benchmarks.measure import MARKS, table
from benchmarks.neural_abstractions.models import Model, SizeRow
from benchmarks.neural_abstractions.outcome import STAGES, Outcome

NONE = "-"
LEGEND = """\
T holds, F violated, ? unknown, with seconds of wall-clock time. Certified errors are per variable; ! is larger than a
published one that is sound (steam's is not: 7 % of its region is in no mode, and f is missed by up to 1.2; with
exponential's the published automaton reaches the bad set before T = 1). The stages are CPU seconds, of the last
network learn and certify. paper s: on the authors' machine, SpaceEx included; tool s: the authors' tool measured on a
machine like ours, without flowpipes; Flow*: published / measured; direct: CPU seconds of our engine `flowpipe`,
which needs no abstraction."""


def numbers(values: Sequence[float] | None, form: str = ".3g") -> str:
    """`0.039, 0.015`; a dash where there are none."""
    return NONE if values is None else ", ".join(format(value, form) for value in values)


def optional(value: float | None, form: str = ".0f") -> str:
    return NONE if value is None else format(value, form)


# Table 1 --------------------------------------------------------------------------------------------------------------


def table_one(models: Sequence[Model], ours: Mapping[str, Outcome], direct: Mapping[str, Outcome]) -> str:
    """Every model: our abstraction beside the published one, and who else answers."""
    header = ("model", "widths", "paper", "error", "paper", "regions", "paper", "verdict", *STAGES, "CPU s", "wall s")
    peers = ("paper s", "tool s", "Flow* s", "direct")
    return table((*header, *peers), [_row(model, ours[model.name], direct.get(model.name)) for model in models])


def _row(model: Model, ours: Outcome, direct: Outcome | None) -> list[str]:
    known = model.published
    assert known is not None, "Table 1 has published models only"
    worse = "!" * exceeds(model, ours)
    flowstar = known.flowstar + ("" if known.flowstar_measured is None else f" / {known.flowstar_measured:g}")
    return [
        model.name,
        numbers(ours.widths, "d"),
        numbers(known.widths, "d"),
        numbers(ours.error) + worse,
        numbers(known.error),
        optional(ours.regions),
        str(known.modes),
        ours.verdict,
        *(optional(ours.stages.get(stage), ".2f") for stage in STAGES),
        f"{ours.processor:.2f}",
        f"{ours.seconds:.2f}",
        f"{known.seconds:g}",
        optional(known.measured),
        flowstar,
        NONE if direct is None else f"{MARKS[direct.verdict]} {direct.processor:.2f}",
    ]


def exceeds(model: Model, ours: Outcome) -> bool:
    """Whether one of our errors is larger than the published one of its variable, where those are sound."""
    known = model.published
    if known is None or not known.sound or ours.error is None:
        return False
    return any(our > their for our, their in zip(ours.error, known.error, strict=True))


# Spread ---------------------------------------------------------------------------------------------------------------


def spread(values: Sequence[float], form: str = ".3g") -> str:
    """Least / mean / largest."""
    if not values:
        return NONE
    return " / ".join(format(value, form) for value in (min(values), mean(values), max(values)))


def seeds_table(found: Mapping[str, Sequence[Outcome]]) -> str:
    """Every model over seeds: how often it is proven, seconds, errors, regions, rounds; least / mean / largest."""
    header = ("model", "proven", "seconds", "CPU seconds", "error of each variable", "regions", "rounds")
    return table(header, [_seeds_row(name, runs) for name, runs in found.items()])


def _seeds_row(name: str, runs: Sequence[Outcome]) -> list[str]:
    errors = [run.error for run in runs if run.error is not None]
    return [
        name,
        f"{sum(run.verdict == 'holds' for run in runs)} of {len(runs)}",
        spread([run.seconds for run in runs], ".2f"),
        spread([run.processor for run in runs], ".2f"),
        "; ".join(spread(column) for column in zip(*errors, strict=True)) or NONE,
        spread([run.regions for run in runs if run.regions is not None], ".0f"),
        spread([run.rounds for run in runs if run.rounds is not None], ".0f"),
    ]


# Size and growth ------------------------------------------------------------------------------------------------------


def sizes_table(rows: Sequence[SizeRow], ours: Sequence[Sequence[Outcome]]) -> str:
    """The 2-norm of the certified errors over the widths of the network, beside the published ones."""
    header = ("model", "widths", "error", "paper", "regions", "paper", "abstracted", "paper", "seconds")
    lines = [_size_line(row, runs) for row, runs in zip(rows, ours, strict=True)]
    return table(header, lines)


def _size_line(row: SizeRow, runs: Sequence[Outcome]) -> list[str]:
    sizes = [run.size for run in runs if run.size is not None]
    regions = [run.regions for run in runs if run.regions is not None]
    return [
        row.model,
        numbers(row.widths, "d"),
        spread(sizes),
        " / ".join(format(value, ".3g") for value in row.error),
        f"{mean(regions):.1f}" if regions else NONE,
        f"{row.modes:g}",
        f"{len(sizes)} of {len(runs)}",
        f"{row.success:.0%}",
        spread([run.seconds for run in runs], ".1f"),
    ]


def growth_table(found: Sequence[tuple[int, Mapping[str, Outcome]]]) -> str:
    """Chained engines: dimensions, and every engine's answer; the abstraction's regions and error."""
    engines = list(found[0][1])
    header = ("dimensions", *engines, "regions", "largest error", "reason")
    return table(header, [_growth_row(dimensions, cells) for dimensions, cells in found])


def _growth_row(dimensions: int, cells: Mapping[str, Outcome]) -> list[str]:
    regions = next((cell.regions for cell in cells.values() if cell.regions is not None), None)
    errors = [max(cell.error) for cell in cells.values() if cell.error is not None]
    reasons = [f"{name}: {cell.reason}" for name, cell in cells.items() if cell.reason]
    shown = optional(regions), optional(max(errors, default=math.nan) if errors else None, ".3g"), "; ".join(reasons)
    return [str(dimensions), *map(str, cells.values()), *shown]


# Unsafe variants ------------------------------------------------------------------------------------------------------


def unsafe_table(found: Mapping[str, Mapping[str, Outcome]]) -> str:
    """Variants that are not safe: nobody may say that they are."""
    engines = list(next(iter(found.values())))
    return table(("unsafe", *engines), [[name, *map(str, cells.values())] for name, cells in found.items()])


def mistakes(found: Mapping[str, Mapping[str, Outcome]]) -> list[str]:
    """Every unsafe variant that somebody calls safe."""
    return [
        f"WRONG: {engine} says that the unsafe variant of {name} holds"
        for name, cells in found.items()
        for engine, cell in cells.items()
        if cell.verdict == "holds"
    ]
