"""Properties as tests: what holds passes, what is violated fails with its trace, unknown is as chosen."""

from __future__ import annotations

import tomllib
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PLUGIN = "vernal.plugins.pytest_plugin"
# In processes of their own: pytester takes modules away again that a run inside this process loads first.
LOADED = [] if any(one.value == PLUGIN for one in entry_points(group="pytest11")) else ["-p", PLUGIN]
COUNTER = """
vernal = 1
[state]
x = "real"
[init]
x = "[0, 1]"
[environment.next]
x = "x + 1"
[properties]
low = "G[0,3] (x <= 5)"
lower = "G[0,3] (x <= 2)"
tight = "G[0,8] (sin(x) * x + cos(x) * x <= 100)"
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.path.joinpath("counter.vernal.toml").write_text(COUNTER, "utf-8")
    pytester.path.joinpath("other.toml").write_text("vernal = 1\nnonsense = 2\n", "utf-8")
    return pytester


def test_every_property_is_a_test(run: pytest.Pytester) -> None:
    done = run.runpytest_subprocess(*LOADED, "-v", "--junitxml=report.xml")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*counter.vernal.toml::low PASSED*",
            "*lower FAILED*",
            "violated  lower: G[[]0,3] (x <= 2)*at step*",
            "*step*x*",
        ]
    )
    assert "Traceback" not in done.stdout.str()
    cases = ET.parse(run.path / "report.xml").iter("testcase")
    told = {case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")} for case in cases}
    assert told["low"]["vernal.verdict"] == "holds"
    assert told["low"]["vernal.scope"] == "up to step 3"
    assert told["lower"]["vernal.verdict"] == "violated"


@pytest.mark.parametrize(("choice", "outcome"), [("fail", "failed"), ("pass", "passed")])
def test_unknown_is_what_one_chooses(run: pytest.Pytester, choice: str, outcome: str) -> None:
    arguments = ["-k", "tight", "--vernal-timeout", "0.000001", "--vernal-unknown", choice, "-rs"]
    done = run.runpytest_subprocess(*LOADED, *arguments)
    done.assert_outcomes(**{outcome: 1}, deselected=2)
    if choice != "pass":
        done.stdout.fnmatch_lines(["*unknown*"])


def test_settings_stand_in_a_file(run: pytest.Pytester) -> None:
    run.makeini("[pytest]\nvernal_files = counter.*\nvernal_unknown = skip\nvernal_timeout = 0.000001\n")
    run.runpytest_subprocess(*LOADED, "-k", "tight").assert_outcomes(skipped=1, deselected=2)


def test_a_file_that_cannot_be_read_is_one_message(run: pytest.Pytester) -> None:
    done = run.runpytest_subprocess(*LOADED, "-o", "vernal_files=other.toml")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*other.toml:2:1*nonsense*"])
    assert "Traceback" not in done.stdout.str()


def test_the_package_brings_the_plugin() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"vernal": PLUGIN}
