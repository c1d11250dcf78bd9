"""SpaceEx model files: affine hybrid automata written, and the same fragment read."""
