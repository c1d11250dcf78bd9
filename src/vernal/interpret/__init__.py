"""One module per meaning of an expression: concrete, exact, interval, linear, MILP, SMT."""
