"""Loops that sample as a space to search."""
