"""What is said of an unknown answer in a page or a notebook: a table of the engines, and commands to copy."""

from __future__ import annotations

from collections.abc import Sequence

from vernal.evidence.result import Result, Suggestion
from vernal.report.attempt_words import method
from vernal.report.frames import html_table
from vernal.report.markup import escape
from vernal.report.next_steps import suggestions
from vernal.report.tables import Column, seconds

WRAPPED = 'style="text-align: left; white-space: pre-wrap; overflow-wrap: anywhere"'


def unknown_parts(result: Result) -> list[str]:
    """The engines that were tried, and what to try next; nothing where there is nothing of it to say."""
    attempts, advice = result.attempts, suggestions(result)
    columns = [
        Column("engine", [one.engine for one in attempts]),
        Column("what it tried", [method(one.engine) or "" for one in attempts]),
        Column("time", [seconds(one.seconds) for one in attempts]),
        Column("what stopped it", [one.outcome for one in attempts]),
    ]
    tried = [f'<div class="scroll">{html_table(columns)}</div>'] if attempts else []
    return tried + ([f"<p>To try next, the most promising first:</p>{_commands(advice)}"] if advice else [])


def _commands(advice: Sequence[Suggestion]) -> str:
    shown = "\n\n".join(f"# {one.why}\n{one.command}" for one in advice)
    return f"<pre {WRAPPED}><code>{escape(shown)}</code></pre>"
