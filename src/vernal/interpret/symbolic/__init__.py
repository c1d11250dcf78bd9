"""Expressions as exact affine forms, following every decision that is open."""
