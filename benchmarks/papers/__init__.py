"""The tables of the five papers in one run, ours beside the papers' methods beside what is printed there."""
