"""Attacks on everything Vernal reads: mutated files and formulas, extreme numbers, kills, limits."""
