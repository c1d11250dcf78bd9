"""Questions about a network alone: `vernal verify`."""
