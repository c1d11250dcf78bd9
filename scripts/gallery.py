"""The pictures of docs/gallery.md, made by the code on that page.

    python scripts/gallery.py

Every block that draws is run in a folder of its own, as the tests run it, and its pictures go to docs/images/gallery.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/gallery.md"
TARGET = ROOT / "docs/images/gallery"
FENCE = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run every block of the page and keep what it draws."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for language, text in FENCE.findall(PAGE.read_text(encoding="utf-8")):
        for command in commands(language, text):
            draw(command)


def commands(language: str, text: str) -> list[list[str]]:
    """The command lines of a block: its lines after `$`, or Python with its text."""
    if language == "python":
        return [[sys.executable, "-c", text]]
    lines = [line[2:] for line in text.splitlines() if line.startswith("$ vernal ")]
    return [[sys.executable, "-m", *shlex.split(line)] for line in lines]


def draw(command: list[str]) -> None:
    """Run one command where the examples are at hand, and copy the pictures it leaves."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for picture in Path(folder).glob("*.svg"):
            shutil.copyfile(picture, TARGET / picture.name)
            print(f"{picture.name}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
