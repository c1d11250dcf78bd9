"""The pictures of docs/gallery.md and docs/nonlinear-dynamics.md, made by the code on these pages.

    python scripts/gallery.py

Every block that draws is run in a folder of its own, as the tests run it, and its pictures go to docs/images.
"""

from __future__ import annotations

import base64
import io
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"docs/gallery.md": "docs/images/gallery", "docs/nonlinear-dynamics.md": "docs/images/flows"}
OUTLINE, NUMBER = re.compile(r' d="[^"]*"'), re.compile(r"-?\d+\.\d+")
EMBEDDED = re.compile(r"(data:image/png;base64,)([A-Za-z0-9+/=\s]+)")
FENCE = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run every block of the pages that draws and keep what it does."""
    for page, target in PAGES.items():
        (ROOT / target).mkdir(parents=True, exist_ok=True)
        for language, text in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
            for command in commands(language, text) if ".svg" in text else []:
                draw(command, ROOT / target)


def commands(language: str, text: str) -> list[list[str]]:
    """The command lines of a block: its lines after `$`, or Python with its text."""
    if language == "python":
        return [[sys.executable, "-c", text]]
    lines = [line[2:] for line in text.splitlines() if line.startswith("$ vernal ")]
    return [[sys.executable, "-m", *shlex.split(line)] for line in lines]


def draw(command: list[str], target: Path) -> None:
    """Run one command where the examples are at hand, and copy the pictures it leaves."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "benchmarks"):
            (Path(folder) / name).symlink_to(ROOT / name)
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for picture in Path(folder).glob("*.svg"):
            written = target / picture.name
            written.write_text(smaller(picture.read_text(encoding="utf-8")), encoding="utf-8")
            print(f"{picture.name}: {written.stat().st_size:,} bytes")


def smaller(svg: str) -> str:
    """A picture whose outlines have hundredths of a point (matplotlib writes millionths), and its maps 256 colours."""
    svg = OUTLINE.sub(lambda outline: NUMBER.sub(lambda found: f"{float(found[0]):.2f}", outline[0]), svg)
    return EMBEDDED.sub(lambda found: found[1] + with_palette(found[2]), svg)


def with_palette(encoded: str) -> str:
    """An image with as many colours as a palette has."""
    written = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
        image.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT).save(written, "png", optimize=True)
    return base64.b64encode(written.getvalue()).decode()


if __name__ == "__main__":
    main()
