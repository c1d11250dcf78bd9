"""Hybrid automata and flowpipes."""
