"""The release script: one version everywhere, a date in the changelog, and what people install by."""

from __future__ import annotations

import re
import shutil
from datetime import date
from pathlib import Path

import pytest

from scripts import release

ROOT = Path(__file__).parent.parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for place in (*release.PLACES, "CHANGELOG.md"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / place, tmp_path / place)
    return tmp_path


def test_one_version_is_said_everywhere() -> None:
    release.check_version(ROOT)


def test_a_version_is_written_everywhere(copy: Path) -> None:
    release.write_version(copy, "0.9.1", date(2030, 2, 1))
    assert set(release.versions(copy).values()) == {"0.9.1"}
    assert re.search(r"^## 0\.9\.1, 2030-02-01$", (copy / "CHANGELOG.md").read_text(), re.MULTILINE)
    release.check_version(copy)
    with pytest.raises(SystemExit, match="unreleased"):
        release.write_version(copy, "0.9.2", date(2030, 2, 2))


def test_versions_that_differ_end_it(copy: Path) -> None:
    citation = copy / "CITATION.cff"
    citation.write_text(citation.read_text().replace("version: ", "version: 7."))
    with pytest.raises(SystemExit, match="versions differ"):
        release.check_version(copy)


def test_an_interpreter_that_does_not_start_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pyenv has them on the PATH for versions that are not chosen."""
    for folder, code in (("broken", 1), ("sound", 0), ("pyenv/versions/3.99.1/bin", 0)):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("python3.98", "python3.99") if folder == "broken" else ("python3.99",):
            (tmp_path / folder / name).write_text(f"#!/bin/sh\nexit {code}\n")
            (tmp_path / folder / name).chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'broken'}:{tmp_path / 'sound'}")
    assert list(release.interpreters(["3.98", "3.99"])) == [str(tmp_path / "sound" / "python3.99")]
    monkeypatch.setenv("PATH", str(tmp_path / "broken"))
    assert list(release.interpreters(["3.99"])) == [str(tmp_path / "pyenv/versions/3.99.1/bin/python3.99")]


def test_recipes_say_what_the_project_says() -> None:
    """The container and the conda recipe name the version's floors and the command."""
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    listed = re.search(r"^dependencies = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    assert listed is not None
    for name, floor in re.findall(r'"([\w-]+)>=([\w.]+)"', listed[1]):
        assert re.search(rf"^    - {name}(-base)? >={re.escape(floor)}$", recipe, re.MULTILINE), name
    assert f"version: {release.versions(ROOT)['pyproject.toml']}" in recipe
    assert 'ENTRYPOINT ["vernal"]' in (ROOT / "Dockerfile").read_text()
