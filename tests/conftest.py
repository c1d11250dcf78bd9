"""What all tests share: reproducible random tests, and honest skips for what is not on this machine."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests.portion import some, strides
from vernal.engines import base

# The same examples on every run and every machine; a slow machine is not a failure.
settings.register_profile(
    "vernal",
    derandomize=True,
    deadline=None,
    max_examples=some(45),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("vernal")

# One thread for each worker: two that share two cores would wait for each other's. Numpy is not loaded yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

NO_DATA = "needs third-party data: set VERNAL_DATA to its folder"


# Collecting makes a million objects that stay until the end: looking through them for garbage, again and again, would
# take a quarter of the time that collecting takes, and time in every test after it.
gc.disable()


def pytest_collection_finish() -> None:
    """From here on there is garbage to collect, but not among what was collected.

    From Python 3.14 on hypothesis does not find what is frozen, and warns that its own generator will be lost.
    """
    if sys.version_info < (3, 14):
        gc.freeze()
    gc.enable()


def data_folder() -> Path | None:
    """The folder VERNAL_DATA names, or None where it is unset; a wrong path is an error, not a reason to skip."""
    name = os.environ.get("VERNAL_DATA")
    if not name:
        return None
    folder = Path(name).resolve()
    if not folder.is_dir():
        raise pytest.UsageError(f"VERNAL_DATA is {name!r}, which is not a folder; correct it or unset it")
    return folder


def why_no_torch() -> str | None:
    """The reason torch cannot be used here, or None where it imports."""
    try:
        with warnings.catch_warnings(action="ignore"):
            importlib.import_module("torch")
    except (ImportError, OSError) as error:
        return f"needs the torch extra: {error}"
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make test-all` asks; skip, with a visible reason, what this machine cannot run."""
    leave_out(config, items)
    if data_folder() is None:
        skip(items, "data", NO_DATA)
    # Importing torch takes seconds, so ask only where a test wants it.
    if any(item.get_closest_marker("torch") for item in items) and (reason := why_no_torch()):
        skip(items, "torch", reason)


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep each n-th case of the functions that the table of portions names; pytest prints how many were left out."""
    asked: list[pytest.Item] = []
    left: list[pytest.Item] = []
    seen = Counter[str]()
    table = strides()
    for item in items:
        function = item.nodeid.partition("[")[0]
        stride = table.get(function, 1)
        (asked if stride and seen[function] % stride == 0 else left).append(item)
        seen[function] += 1
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = asked


def skip(items: list[pytest.Item], marker: str, reason: str) -> None:
    """Skip the tests that carry a marker."""
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of third-party networks and models."""
    folder = data_folder()
    if folder is None:
        pytest.skip(NO_DATA)
    return folder


@pytest.fixture(autouse=True)
def failures_are_raised(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test passes over an error that `auto` went around, but those that are about just that."""

    def broken(engine: str, error: Exception) -> NoReturn:
        raise error

    if request.node.get_closest_marker("swallows") is None:
        monkeypatch.setattr(base, "broken", broken)
