"""The certificates of all examples, accepted by `vernal-check` in an environment that has nothing else.

`python scripts/certified_examples.py [--seconds S]`: writes a certificate of every property of `examples/` that holds
and has one, makes an empty environment, installs `./checker` there, and checks each of them. Ends with 1 if one is not
accepted. What holds and is uncertified is listed with the reason.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import vernal as vn

ROOT = Path(__file__).parents[1]


def certificates(folder: Path, seconds: float) -> Iterator[tuple[Path, Path]]:
    """Tasks and their certificates."""
    for task in sorted((ROOT / "examples").glob("*/*.toml")):
        for name, result in vn.check(vn.load(task), timeout=seconds, certificate=True).items():
            if result.verdict is not vn.HOLDS:
                continue
            if result.certificate is None:
                print(f"{task.stem:12} {name:12} uncertified: {result.uncertified}", flush=True)
                continue
            file = folder / f"{task.stem}-{name}.certificate"
            result.certificate.save(file)
            yield task, file


def alone(folder: Path) -> Path:
    """The command `vernal-check` of an environment of its own."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", str(ROOT / "checker")], check=True)
    return folder / "bin" / "vernal-check"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="for the properties of each task together")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        checker, failed = alone(Path(name) / "alone"), 0
        for task, file in certificates(Path(name), options.seconds):
            done = subprocess.run([checker, file, "--task", task], capture_output=True, text=True, check=False)
            failed += done.returncode != 0
            print(f"{task.stem:12} {done.stdout.splitlines()[0] if done.stdout else done.stderr[-200:]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
