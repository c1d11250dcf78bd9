"""Planners that policies learn from: which labels are good in a batch of states, and how much it matters there."""
