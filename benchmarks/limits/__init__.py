"""Limits of time and memory, on sixty heavy commands: how late each ends, and how much it takes."""
