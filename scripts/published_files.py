"""Check the published files under VERNAL_DATA: `python scripts/published_files.py [FOLDER]`.

Compares every file that the benchmarks and tests read with the hashes in published_files.sha256 (the format of
`sha256sum`), folder by folder. Ends with 1 where a file is missing or another one.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

HASHES = Path(__file__).with_suffix(".sha256")


def listed() -> dict[str, str]:
    """The hash of every file, by its path."""
    lines = HASHES.read_text(encoding="utf-8").splitlines()
    return {path: digest for digest, _, path in (line.partition("  ") for line in lines)}


def fate(file: Path, digest: str) -> str:
    """Whether a file is there, and as it was."""
    if not file.is_file():
        return "missing"
    return "as listed" if sha256(file.read_bytes()).hexdigest() == digest else "changed"


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments) or [os.environ.get("VERNAL_DATA", "")]
    if len(given) > 1 or not given[0]:
        print("name the folder of the published files, or set VERNAL_DATA", file=sys.stderr)
        return 2
    fates = {path: fate(Path(given[0]) / path, digest) for path, digest in listed().items()}
    for folder in dict.fromkeys(path.partition("/")[0] for path in fates):
        counts = Counter(one for path, one in fates.items() if path.startswith(f"{folder}/"))
        print(f"{folder}: {', '.join(f'{count} {one}' for one, count in counts.items())}")
    wrong = [f"{one}: {path}" for path, one in fates.items() if one != "as listed"]
    print("\n".join(wrong) or f"all {len(fates)} files are as listed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
