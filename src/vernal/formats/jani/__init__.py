"""JANI planning models with neural policies, as ordinary systems."""
