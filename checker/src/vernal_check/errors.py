"""What can come of a certificate besides being accepted."""

from __future__ import annotations


class Rejected(Exception):
    """The certificate does not show the claim: which node, which obligation, and a state where there is one."""

    def __init__(self, reason: str, node: str | None = None, obligation: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.node, self.obligation = reason, node, obligation

    def __str__(self) -> str:
        where = [] if self.node is None else [f"node {self.node}"]
        where += [] if self.obligation is None else [f"obligation {self.obligation}"]
        return f"{', '.join(where)}: {self.reason}" if where else self.reason


class Unshown(Rejected):
    """Bounds over sets do not show an obligation, and no state is known that contradicts it: nothing is said."""


class Endless(Unshown):
    """Something over a set is not found: a value without an end, more sets than are looked at."""


class Unreadable(Exception):
    """Something this program does not read, or a file that is none: nothing is said about the claim."""
