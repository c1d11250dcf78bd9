"""Expressions as rows of mixed-integer programs."""
