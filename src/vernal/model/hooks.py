"""Functions of later rooms that methods of data call: drawing, writing, tables. The package puts them here by name.

Data lives upstream of what is done with it. `result.report("x.html")` is a method all the same: it asks for the
function by its name, which exists once `vernal` is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HOOKS: dict[str, Callable[..., Any]] = {}


def hook(name: str) -> Callable[..., Any]:
    """The function of this name."""
    if name not in HOOKS:
        raise RuntimeError(f"import vernal first: it knows how to {name.replace('_', ' ')}")
    return HOOKS[name]
