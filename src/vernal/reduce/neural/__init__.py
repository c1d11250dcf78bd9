"""Neural abstractions of flows: networks in the place of vector fields, certified, and as affine hybrid automata."""
