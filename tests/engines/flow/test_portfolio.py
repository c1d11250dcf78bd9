"""`auto` for flows: the right engine answers, and an unknown says what each of them says."""

from __future__ import annotations

import re
from typing import Any

import vernal as vn


def decay(**changes: Any) -> vn.Flow:
    given: dict[str, Any] = {
        "state": {"x": vn.real(-2, 2)},
        "init": {"x": vn.interval(0.5, 1)},
        "rates": lambda s: {"x": -s.x},
    }
    return vn.Flow("decay", **(given | changes))


def test_what_holds_and_what_does_not() -> None:
    held = vn.check(decay(), "G[0,1] (x <= 1)")
    assert (held.verdict, held.engine) == (vn.HOLDS, "flowpipe")
    failed = vn.check(decay(), "G[0,1] (x >= 0.2)")
    assert (failed.verdict, failed.engine) == (vn.VIOLATED, "falsify")
    assert failed.trace is not None
    assert failed.trace.times is not None
    assert any(name.endswith(" seconds") for name in held.statistics)


def test_what_stays_open_says_why() -> None:
    pushed = decay(init={"x": 0}, rates=lambda s: {"x": vn.between(-1, 1)})
    result = vn.check(pushed, "G[0,1] (x <= 1)", timeout=2.0)  # true with no room to spare
    assert result.verdict is vn.UNKNOWN
    assert result.reason is not None
    for engine in ("falsify", "flowpipe", "abstraction"):
        assert re.search(rf"{engine}( \([^)]*\))?: ", result.reason)
    assert result.proven_time is None or 0.9 <= result.proven_time <= 1.0  # none on a very slow machine


def test_more_variables_than_are_abstracted() -> None:
    names = [f"v{k}" for k in range(8)]
    flow = vn.Flow(
        state=dict.fromkeys(names, vn.real(-2, 2)),
        init=dict.fromkeys(names, 1),
        rates=lambda s: {name: -s[name] for name in names},
    )
    assert vn.check(flow, "G[0,1] (v0 <= 1)", timeout=30).verdict is vn.HOLDS
