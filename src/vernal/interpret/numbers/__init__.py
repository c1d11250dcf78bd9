"""Rigorous numbers: rounding outward, elementary functions with margins, balls."""
