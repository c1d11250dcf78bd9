"""The engine `lasso`: paths that come back to where they were, and so never do what a claim waits for."""
