"""The cart pole for all time: AAMAS 2025, Table 2."""
