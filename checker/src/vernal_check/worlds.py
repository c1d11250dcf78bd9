"""Worlds: tasks that others are built on: files, or texts that the certificate brings, with known fingerprints."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vernal_check.errors import Unreadable

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_LAYERS = 8
KNOWN = {
    "acrobot": "db9a89d2ea47b3965eb0cc96b9e49e3cc5173b156d91b4892a0856370c008a45",
    "cartpole": "ffc6b6c356dd2eb46e1d64ddff98ca197bd55045c997fa646491d78cc0022386",
    "lander": "92b2df5a21174f3e0a40bb05dec6d97e8fd394c81585dbc9fd1cb2141178c83e",
    "mountaincar": "b27ef05cc22ee8bbb6a12181e8a57e95dc3600a7c4be2af49e98cd2fbc772ea9",
    "mountaincar_continuous": "66b4f5b48c17c6bfdb8343483b5720b86b8fbcf2aba246f41ee649414dcea15f",
    "pendulum": "aed67f71c4195a6f4abb6d9468422fbac457ffa066fd0e2ff34b70fbf525569f",
    "pendulum_bangbang": "6faeb34e5abea64acbf139ada2b5eada379ead88e12fd5d71b47c590442277a4",
    "spread2": "1cbd7a953ad0e5f4f1d3ff3af19b46e251127406c66162423f461edf0e275a40",
    "spread3": "1fb240906e6acd2cd53ad6a75d9e17b981ac3b07b473323c6d01f706e7ca9d75",
    "spread4": "549a0fd0db472c841b843648033736abefb654baa2be5de7e2a17de7c6668695",
}


def text(name: str, given: Mapping[str, str], folder: Path) -> str:
    """The text of a world: by its name, as the certificate brings it, or of a file below the task's folder."""
    if not NAME.fullmatch(name):
        try:
            file = (folder / name).resolve()
        except (OSError, ValueError):
            raise Unreadable(f"the world {name[:40]!r} has a name that no file can have") from None
        if file.suffix != ".toml" or not file.is_relative_to(folder.resolve()):
            raise Unreadable(f"the world {name!r} is no .toml file below the task's folder")
        try:
            return file.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise Unreadable(f"the world {name!r} cannot be read: {error}") from None
    found = given.get(name)
    if found is None:
        raise Unreadable(f"the certificate does not bring the world {name}")
    if hashlib.sha256(found.encode()).hexdigest() != KNOWN.get(name):
        raise Unreadable(f"the text that the certificate brings is not the world {name} that this program knows")
    return found


def laid_over(upper: Mapping[str, Any], lower: Mapping[str, Any], depth: int = 3) -> dict[str, Any]:
    """Tables over those of a world, entry by entry, down to the keys of an agent."""
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        if depth > 1 and isinstance(below, dict) and isinstance(value, dict):
            merged[key] = laid_over(value, below, depth - 1)
        else:
            merged[key] = value
    return merged
