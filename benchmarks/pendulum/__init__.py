"""The pendulum that has to get up: AAMAS 2025, Table 3."""
