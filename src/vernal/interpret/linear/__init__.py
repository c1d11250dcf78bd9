"""Linear lower and upper bounds of every node over boxes, and interval bounds with the same interface."""
