"""The page in the browser: its questions answered, its examples complete, its worker tried with a stand-in for Python.

VERNAL_PYODIDE names a folder with Pyodide (npm install pyodide: node_modules/pyodide), which is then tried under node
as far as that has packages: numpy is not among them. Nothing is downloaded by these tests.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts import playground
from vernal.plugins.playground import answer

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", playground.EXAMPLES)
def test_examples_bring_what_they_need(name: str, tmp_path: Path) -> None:
    given = playground.example(name)
    for file, content in dict(given["files"]).items():  # type: ignore[call-overload]
        (tmp_path / file).write_bytes(base64.b64decode(content))
    made = json.loads(answer(str(given["text"]), str(tmp_path), "G[0,1] (1 > 0)", 20.0))
    (one,) = made["answers"]
    assert one["verdict"] == "holds"


def test_answers_have_words_and_pictures(tmp_path: Path) -> None:
    text = 'vernal = 1\nstate.x = "real"\ninit.x = 0\nenvironment.next.x = "x + 1"\nproperties.low = "G[0,5] x <= 3"\n'
    (one,) = json.loads(answer(text, str(tmp_path)))["answers"]
    assert one["verdict"] == "violated"
    assert "<svg" in one["html"]
    assert "at step 4" in one["text"]


def test_mistakes_are_said_at_their_line(tmp_path: Path) -> None:
    said = json.loads(answer("vernal = 1\nnothing = 2\n", str(tmp_path)))["error"]
    assert "task.toml:2:1" in said
    assert str(tmp_path) not in said
    plain = 'vernal = 1\nstate.x = "real"\ninit.x = 0\nenvironment.next.x = "x"\n'
    assert "no properties" in json.loads(answer(plain, str(tmp_path)))["error"]


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
PYODIDE = os.environ.get("VERNAL_PYODIDE", "")
needs_pyodide = pytest.mark.skipif(
    not PYODIDE or shutil.which("node") is None, reason="needs node, and Pyodide in VERNAL_PYODIDE"
)
STAND_IN = """
export const loadPyodide = async () => ({
  version: "3.14", FS: { mkdirTree() {}, writeFile(name, content) { this.last = [name, content.length] } },
  unpackArchive() {},
  async loadPackage(names, { errorCallback }) {
    for (const name of names.filter(name => LACKING.includes(name))) {
      errorCallback(`error while loading ${name}: 404`)
      errorCallback("Failed to fetch")
    }
  },
  runPython() { return (...given) => JSON.stringify({ answers: [...given, this.FS.last] }) },
})
"""


def worked(folder: Path, lacking: list[str], **listed: object) -> list[dict[str, object]]:
    """What the worker of the page posts, where Pyodide is a stand-in that lacks some packages."""
    (folder / "pyodide.mjs").write_text(STAND_IN.replace("LACKING", json.dumps(lacking)))
    (folder / "vernal.whl").write_bytes(b"")
    packages = {"pyodide": "./", "packages": ["numpy", "scipy"], "optional": ["highspy"], "wheels": ["vernal.whl"]}
    (folder / "packages.json").write_text(json.dumps(packages | {"missing": []} | listed))
    question = json.dumps({"text": "T", "spec": "G p", "seconds": 3, "files": {"a.onnx": "AAAA"}})
    words = ["node", str(ROOT / "tests/plugins/worker.mjs"), str(ROOT / "docs/play/worker.js"), str(folder), question]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@needs_node
def test_the_worker_answers(tmp_path: Path) -> None:
    *_, ready, answered = worked(tmp_path, [])
    assert ready == {"ready": "3.14", "without": []}
    assert json.loads(str(answered["answer"]))["answers"] == ["T", "/models", "G p", 3, ["/models/a.onnx", 3]]


@needs_node
def test_the_worker_says_what_cannot_be_had(tmp_path: Path) -> None:
    assert "has no numpy, scipy; install Vernal" in str(worked(tmp_path, ["numpy", "scipy"])[-1]["problem"])
    assert "no wheel could be had of onnx" in str(worked(tmp_path, [], missing=["onnx"])[-1]["problem"])
    assert worked(tmp_path, ["highspy"])[-2] == {"ready": "3.14", "without": ["highspy"]}


INSIDE = """
import importlib, json, sys, warnings
from pathlib import Path
warnings.simplefilter("error")
sys.path[:0] = ["/repository/src", "/repository/checker/src"]
for file in [*Path("/repository/src").rglob("*.py"), *Path("/repository/checker/src").rglob("*.py")]:
    compile(file.read_text(), str(file), "exec")
import vernal
from vernal.model.thread_support import has_threads
from vernal.run import alarm, executor, journal, pauses, worker
from vernal.run.budget import Budget
done = alarm.in_time(lambda: 7, Budget(timeout=5.0))
from vernal_check.main import main
codes = [main([f"/repository/{name}.certificate"]) for name in ("true", "false")]
json.dumps({"platform": sys.platform, "threads": has_threads(), "done": done, "codes": codes})
"""


@needs_pyodide
def test_what_needs_no_numpy_works_in_pyodide(tmp_path: Path) -> None:
    """Every file compiles there (Python 3.14), limits of time need no alarm, and the checker accepts and rejects."""
    for name in ("src", "checker"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    page = (ROOT / "docs" / "certificates.md").read_text()
    task, certificate = (page.split(f'title="halving.{end}"\n')[1].split("```")[0] for end in ("toml", "certificate"))
    (tmp_path / "halving.toml").write_text(task)
    (tmp_path / "true.certificate").write_text(certificate)
    (tmp_path / "false.certificate").write_text(certificate.replace("[[1, 2]]", "[[1, 1.9]]"))
    (tmp_path / "inside.py").write_text(INSIDE)
    words = ["node", str(ROOT / "tests/plugins/pyodide.mjs"), PYODIDE, str(tmp_path / "inside.py"), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"platform": "emscripten", "threads": False, "done": 7, "codes": [0, 1]}


@needs_node
def test_the_scripts_of_the_page_are_read_by_node() -> None:
    for file in ("play.js", "worker.js"):
        done = subprocess.run(["node", "--check", str(ROOT / "docs" / "play" / file)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
