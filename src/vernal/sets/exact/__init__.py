"""Exact polyhedra of states, followed from step to step in rational arithmetic."""
