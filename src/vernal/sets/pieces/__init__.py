"""Affine pieces of the initial set, followed from step to step in batches."""
