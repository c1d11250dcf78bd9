"""The engine `paths`: every path of the system, by sets of states that made the same decisions."""
