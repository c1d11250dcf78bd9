"""What networks compute in a float format, beside what they compute in real numbers."""
