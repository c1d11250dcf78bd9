"""All attacks in one process, which may die of them: `python -m tests.formats.sb3.attempt` says a line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.formats.sb3.attacks import ARCHIVES, PICKLES, model
from vernal.formats.sb3.saved_policy import parse_normalisation, parse_sb3

MEMORY = 2**30  # bytes of addresses, libraries included


def attempts() -> Iterator[tuple[str, Callable[[], object]]]:
    """What is read, by a name: each pickle as weights and as statistics, and archives as they are."""
    for name, made in PICKLES.items():
        yield f"{name}, as weights", lambda made=made: parse_sb3(model(weights=made()), "policy")  # type: ignore[misc]
        yield f"{name}, as statistics", lambda made=made: parse_normalisation(made())  # type: ignore[misc]
    for name, made in ARCHIVES.items():
        yield name, lambda made=made: parse_sb3(made(), "policy")  # type: ignore[misc]


def limit() -> None:
    """Bound this process where the system can."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    limit()
    for name, read in attempts():
        try:
            read()
            said = ("nothing", "")
        except BaseException as error:
            said = (type(error).__name__, str(error))
        print(json.dumps([name, *said]), flush=True)


if __name__ == "__main__":
    main()
