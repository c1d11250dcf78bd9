"""Several steps of the closed loop as one graph: step by step, or with policies over their whole history."""
