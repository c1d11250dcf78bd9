"""How much of what `auto` proves is certified, by engine, and what certificates cost."""
