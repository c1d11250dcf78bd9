"""The papers that go with the package: what it needs, under which licences."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from scripts import sbom

ROOT = Path(__file__).parent.parent


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
OURS = ("docs", "dev")  # extras of those who work on Vernal, which read no file of a user
FORMATS = {  # how the page about security calls what each package of `vernal.formats` reads
    "jani": "JANI",
    "keras": "Keras",
    "onnx": "ONNX",
    "sb3": "stable-baselines3",
    "spaceex": "SpaceEx",
    "task": "tasks",
    "torch": "torch",
    "vnnlib": "VNN-LIB",
}
SUFFIX = re.compile(r"""["'](\.[a-z][a-z0-9]{1,8})["']""")


def names(lines: list[str]) -> list[str]:
    return [re.split(r"[<>=!~ ]", line)[0] for line in lines]


def required() -> list[str]:
    return names(PROJECT["dependencies"])


def words(file: str) -> set[str]:
    """The names in a text, as packages and suffixes are written."""
    return set(re.findall(r"[\w.-]*\w", (ROOT / file).read_text(encoding="utf-8")))


def test_every_package_we_need_is_in_the_notice() -> None:
    assert set(required()) <= words("NOTICE")


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_extra_is_in_the_notice_and_its_packages_are(extra: str) -> None:
    assert {extra, *names(EXTRAS[extra])} <= words("NOTICE")
    assert extra in OURS or set(names(EXTRAS[extra])) <= words("SECURITY.md")


@pytest.mark.parametrize("extra", [extra for extra in EXTRAS if extra not in OURS])
def test_what_an_extra_brings_under_a_licence_that_asks_for_more_is_in_the_notice(extra: str) -> None:
    """As far as it is installed here: LGPL, GPL and MPL, wherever a package says which licence it has."""
    brought = sbom.needed(distribution("vernal"), frozenset({extra}))
    asking = {one["name"] for one in map(sbom.component, brought) if re.search(r"GPL|Lesser|MPL", str(one["licenses"]))}
    assert asking <= words("NOTICE")


def test_every_format_is_named_where_security_is_promised() -> None:
    folder = ROOT / "src/vernal/formats"
    assert {path.parent.name for path in folder.glob("*/__init__.py")} == set(FORMATS)
    assert [word for word in FORMATS.values() if word not in (ROOT / "SECURITY.md").read_text(encoding="utf-8")] == []


def test_every_suffix_that_is_read_or_written_is_named_there() -> None:
    """Those in the code of formats and queries: a new one is not forgotten."""
    code = [*(ROOT / "src/vernal/formats").rglob("*.py"), *(ROOT / "src/vernal/queries").glob("*.py")]
    found = {suffix for file in code for suffix in SUFFIX.findall(file.read_text(encoding="utf-8"))}
    assert {".onnx", ".zip", ".jani", ".xml"} <= found
    assert found - words("SECURITY.md") == set()


def test_the_bill_of_materials_lists_what_is_installed() -> None:
    ran = subprocess.run([sys.executable, ROOT / "scripts" / "sbom.py"], capture_output=True, text=True, check=True)
    bill = json.loads(ran.stdout)
    assert bill["bomFormat"] == "CycloneDX"
    components = {component["name"]: component for component in bill["components"]}
    assert set(required()) <= set(components)
    assert "pytest" not in components  # an extra that was not asked for
    for component in components.values():
        assert component["purl"] == f"pkg:pypi/{component['name']}@{component['version']}"
        assert component["licenses"]
