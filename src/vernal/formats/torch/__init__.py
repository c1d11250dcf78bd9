"""torch modules as networks."""
