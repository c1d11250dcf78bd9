"""Limits of time and memory, on thirty heavy commands: how late each ends, and how much it takes."""
