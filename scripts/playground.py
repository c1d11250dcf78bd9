"""What the page docs/play loads besides itself: examples, the wheel of Vernal, and where packages come from.

    python scripts/playground.py build/pages/docs/play

PYODIDE is the address of a distribution of Pyodide (default: that of its makers). Packages that it has not are wheels
that pip finds; one that cannot be had is said, here and on the page.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYODIDE = "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/"
PACKAGES = ["numpy", "scipy", "msgspec", "rich", "matplotlib", "threadpoolctl", "protobuf"]
PACKAGES += ["ml-dtypes", "typing-extensions", "pygments", "click", "annotated-doc"]
OPTIONAL = ["highspy", "h5py"]  # a solver, and files of Keras: the page answers without, and says that it does
WHEELS = ["array-api-compat", "lark", "typer", "shellingham", "markdown-it-py", "mdurl", "onnx", "python-flint"]
TAGS = ["--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14", "--only-binary=:all:"]  # of PYODIDE
EXAMPLES = {"thermostat": "*.onnx", "vacuum": "*.onnx", "cartpole": "r16.onnx"}  # and the networks they need
SCHEMA_LINE = "#:schema"


def main(target: Path) -> None:
    """Write everything beside the page."""
    target.mkdir(parents=True, exist_ok=True)
    missing = [name for name in WHEELS if not fetch(name, target)]
    if missing:
        print(f"the page docs/play lacks wheels of {', '.join(missing)}", file=sys.stderr)
    build(target)
    (target / "examples.json").write_text(json.dumps({name: example(name) for name in EXAMPLES}), encoding="utf-8")
    listed = {
        "pyodide": os.environ.get("PYODIDE", PYODIDE),
        "packages": PACKAGES,
        "optional": OPTIONAL,
        "wheels": sorted(wheel.name for wheel in target.glob("*.whl")),
        "missing": missing,
    }
    (target / "packages.json").write_text(json.dumps(listed, indent=1), encoding="utf-8")


def fetch(name: str, target: Path) -> bool:
    """Whether a wheel for the browser could be had."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(target), *TAGS, name]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def build(target: Path) -> None:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(target), str(ROOT)]
    subprocess.run(command, check=True)


def example(name: str) -> dict[str, object]:
    """The text of an example's task, and the networks that it names."""
    folder = ROOT / "examples" / name
    text = (folder / f"{name}.toml").read_text(encoding="utf-8")
    shown = "\n".join(line for line in text.split("\n") if not line.startswith(SCHEMA_LINE))
    files = {file.name: base64.b64encode(file.read_bytes()).decode() for file in folder.glob(EXAMPLES[name])}
    return {"text": shown, "files": files}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
