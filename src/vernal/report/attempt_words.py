"""What became of the engines that left a question open, in words."""

from __future__ import annotations

import re

from vernal.engines.attempts import HINT
from vernal.engines.registry import engines
from vernal.evidence.result import EngineAttempt, Result
from vernal.run.budget import TIMEOUT

LEFT_OPEN = "no engine decided it"


def method(engine: str) -> str | None:
    """What an engine does, in a few words; None of one that has no name of its own."""
    about = next((entry.about for entry in engines() if entry.name == engine), None)
    return None if about is None else re.split("[;:,]", about)[0]


def attempt_words(attempt: EngineAttempt) -> str:
    """What an engine tried, and what stopped it."""
    tried = method(attempt.engine)
    return attempt.outcome if tried is None else f"{tried}; {attempt.outcome}"


def stopped_by(result: Result) -> str:
    """Why the answer is unknown, without what is said of the engines one by one and without what to try."""
    parts = (result.reason or LEFT_OPEN).split("; ")
    if result.tried:
        return parts[0] if parts[0].startswith(TIMEOUT) else LEFT_OPEN
    return "; ".join(part for part in parts if not part.startswith(HINT)) or LEFT_OPEN
