"""The engine `liveness`: formulas without a bound by automata, and safety of a product."""
