"""Exact geometry: affine forms, polyhedra, and linear constraints decided over the rationals."""
