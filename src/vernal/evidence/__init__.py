"""Results, traces, trees, invariants and certificates; replay and the independent checkers."""
