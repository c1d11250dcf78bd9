"""The engine `split`: branch and bound over the initial set."""
