"""Reachable sets of affine hybrid automata: what a neural abstraction is asked."""
