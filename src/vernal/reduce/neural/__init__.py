"""Neural abstractions of flows: learned, certified, and turned into hybrid automata."""
