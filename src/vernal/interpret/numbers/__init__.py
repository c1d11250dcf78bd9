"""Numbers that tell the truth: rounding outward, elementary functions with margins, balls."""
