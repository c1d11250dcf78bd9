"""Properties as tests: pytest collects every property of `*.vernal.toml`.

    pytest models/thermostat.vernal.toml --vernal-timeout 60

A property that is violated fails with its trace, one that stays unknown fails, is skipped or passes as chosen
(`--vernal-unknown`), and verdict, engine, margin and scope are properties of the test in a JUnit file.

Every run of pytest loads this module where Vernal is installed, so nothing else is imported before a file is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from vernal.evidence.result import Result
    from vernal.logic.task import Task

PATTERN = "*.vernal.toml"
UNKNOWN_IS = ("fail", "skip", "pass")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--vernal-timeout`, `--vernal-unknown`, and the same as settings."""
    group = parser.getgroup("vernal", "properties of Vernal's task files")
    group.addoption("--vernal-timeout", type=float, metavar="S", help="seconds for each property (setting: 60)")
    group.addoption("--vernal-unknown", choices=UNKNOWN_IS, help="what becomes of a property that stays unknown")
    parser.addini("vernal_files", "task files whose properties are tests", "args", [PATTERN])
    parser.addini("vernal_timeout", "seconds for each property", default="60")
    parser.addini("vernal_unknown", "what becomes of a property that stays unknown: fail, skip or pass", default="fail")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A task file as a collector of its properties."""
    patterns = parent.config.getini("vernal_files")
    if any(fnmatch(file_path.name, pattern) for pattern in patterns):
        return TaskTests.from_parent(parent, path=file_path)
    return None


class TaskTests(pytest.File):
    """A task file; its properties are tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each property; a file that cannot be read is an error of its own, in the file's own words."""
        from vernal.errors import VernalError
        from vernal.formats.loading import load

        try:
            task = load(self.path)
        except VernalError as error:
            raise self.CollectError(str(error)) from None
        for name in task.properties:
            yield PropertyTest.from_parent(self, name=name, task=task)


class PropertyTest(pytest.Item):
    """One property: it passes where it holds."""

    def __init__(self, *, task: Task, **given: Any) -> None:
        super().__init__(**given)
        self.task = task

    def runtest(self) -> None:
        """Check the property, and judge the verdict."""
        from vernal.engines.check import check
        from vernal.evidence.result import HOLDS, UNKNOWN

        result = check(self.task, property=self.name, timeout=self._timeout)[self.name]
        self._record(result)
        if result.verdict is HOLDS:
            return
        choice = self._choice if result.verdict is UNKNOWN else "fail"
        if choice == "skip":
            pytest.skip(f"unknown: {result.reason}")
        if choice == "fail":
            raise NotShown(_text(result))

    @property
    def _timeout(self) -> float:
        given = self.config.getoption("vernal_timeout")
        return float(self.config.getini("vernal_timeout") if given is None else given)

    @property
    def _choice(self) -> str:
        choice = self.config.getoption("vernal_unknown") or self.config.getini("vernal_unknown")
        if choice not in UNKNOWN_IS:
            raise pytest.UsageError(f"vernal_unknown is one of {', '.join(UNKNOWN_IS)}, not {choice!r}")
        return str(choice)

    def _record(self, result: Result) -> None:
        """What a JUnit file says about the test."""
        told = {
            "formula": result.formula,
            "verdict": result.verdict.value,
            "scope": result.scope,
            "engine": result.engine,
            "assurance": result.assurance,
            "margin": result.margin,
            "proven": result.proven,
        }
        self.user_properties += [(f"vernal.{name}", str(value)) for name, value in told.items() if value is not None]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The answer as the command line prints it, without a traceback; errors of ours are one message."""
        from vernal.errors import VernalError

        if isinstance(excinfo.value, NotShown | VernalError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the test stands, and its name."""
        return self.path, None, f"{self.path.name}: {self.name}"


class NotShown(Exception):
    """A property that is violated, or unknown; its text is the answer."""


def _text(result: Result) -> str:
    from vernal.report.text import result_text

    return result_text(result)
