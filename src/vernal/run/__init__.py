"""Executors, budgets, journal and progress: how work is carried out, not what it is."""
