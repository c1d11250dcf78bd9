"""The page in the browser: its questions answered, its examples complete; Pyodide itself is tried by hand."""

from __future__ import annotations

import base64
import json
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


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_scripts_of_the_page_are_read_by_node() -> None:
    for file in ("play.js", "worker.js"):
        done = subprocess.run(["node", "--check", str(ROOT / "docs" / "play" / file)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
