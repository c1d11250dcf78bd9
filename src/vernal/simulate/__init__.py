"""Simulation: initial states sampled, and thousands of runs at once."""
