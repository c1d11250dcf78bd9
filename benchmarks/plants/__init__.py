"""Plants of our own under networks that sample: from a unicycle of four states to a quadrotor of twelve."""
