"""Ready-made environments, and the Gymnasium and PettingZoo view of a system."""
