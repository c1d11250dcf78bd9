"""VERification of Neural Agents in the Loop."""

__version__ = "0.1.0"
