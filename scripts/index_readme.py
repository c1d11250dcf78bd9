"""The README as a package index shows it: links to files of the repository become their text, pictures are left out.

A package index has no `docs/` beside the README, and relative links would lead nowhere there. Where VERNAL_URL names
the address of the project, metadata has it. hatchling calls this while it builds.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?://)[^)]*\)\n*")
RELATIVE = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]*\)")


class IndexReadme(MetadataHookInterface):
    """Puts the README, without links that only work in the repository, and addresses into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the fields that `dynamic` in pyproject.toml names."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": RELATIVE.sub(r"\1", PICTURE.sub("", text))}
        if url := os.environ.get("VERNAL_URL"):
            metadata["urls"] = {"Source": url, "Issues": f"{url}/issues", "Changes": f"{url}/blob/main/CHANGELOG.md"}
