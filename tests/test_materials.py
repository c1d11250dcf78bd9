"""The papers that go with the package: what it needs, under which licences."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def required() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [re.split(r"[<>=!~ ]", line)[0] for line in project["dependencies"]]


def test_every_package_we_need_is_in_the_notice() -> None:
    notice = (ROOT / "NOTICE").read_text()
    assert [name for name in required() if name not in notice] == []


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
