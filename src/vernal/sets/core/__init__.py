"""The core of network questions: can a graph do something somewhere in a box? Branch and bound in batches of boxes."""
