"""Invariants: sets of states that no step leaves, as proofs for all time."""
