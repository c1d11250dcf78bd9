"""The README as a package index shows it: links to files of the repository become their text.

A package index has no `docs/` beside the README, and relative links would lead nowhere there. hatchling calls this
while it builds.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]*\)")


class IndexReadme(MetadataHookInterface):
    """Puts the README, without links that only work in the repository, into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the one field that `dynamic` in pyproject.toml names."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": RELATIVE.sub(r"\1", text)}
