"""Formulas over model expressions: tree, parser, normal forms, semantics on traces."""

from __future__ import annotations

from vernal.logic import printing as printing  # str of a formula uses it
