"""Limits of time and memory, on seventy-four heavy commands: how late each ends, and how much it takes."""
