"""The engines `milp` and `smt`: the paths that refute a claim, as one program for a solver."""
