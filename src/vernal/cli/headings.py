"""The help of a command: its options below headings, those first that most questions need."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

ARGUMENTS, OPTIONS = "Arguments", "Options"
LIMITS = "Limits and machines"
OUTPUT = "Output"
ENGINE = "Of one engine"
ORDER = (ARGUMENTS, OPTIONS, LIMITS, OUTPUT, ENGINE)
UNDER = {
    LIMITS: "--timeout --cell-timeout --memory --workers --on --seed --journal --device --idle",
    OUTPUT: "--json --csv --trace --plot --report --html --certificate --output --events --colour --axes --at --quiet",
    ENGINE: "--solver --encoding --unroll --no-tighten --deepen --depth --predicates --selection --applicability "
    "--no-policy --no-refine --shortest --no-follow --test --relaxation --transitions --directions",
}
HEADING = {name: heading for heading, names in UNDER.items() for name in names.split()}


class Headed(TyperCommand):
    """A command whose options stand below their headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(_heading(param), []).append(record)
        for heading in sorted(sections, key=_place):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])


def _place(heading: str) -> int:
    """What a command declares itself stands before the last heading: it is about some models, or some engine, only."""
    return ORDER.index(heading) if heading in ORDER else len(ORDER) - 1


def _heading(param: Any) -> str:
    if param.param_type_name == "argument":
        return ARGUMENTS
    known = (HEADING[name] for name in param.opts if name in HEADING)
    return getattr(param, "rich_help_panel", None) or next(known, OPTIONS)
