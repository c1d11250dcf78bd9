"""Which Vernal this is."""

from __future__ import annotations

from importlib import metadata

import pytest

from vernal.evidence.program_version import NOT_INSTALLED, version


def test_a_source_tree_that_is_not_installed_has_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert version() == NOT_INSTALLED
