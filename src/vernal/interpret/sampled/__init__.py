"""Loops that sample: a flow whose variables are reset at instants, and sets of its states."""
