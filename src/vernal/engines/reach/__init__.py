"""Reachable sets: certified bounds of expressions at every step."""
