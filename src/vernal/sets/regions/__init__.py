"""Regions: sets of states between directions of a template, followed from step to step in batches."""
