"""Decision procedures: each takes a question and a budget, and returns what it could prove or refute."""
