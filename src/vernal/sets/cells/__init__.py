"""Cells of states between directions: their images, and which sets of them no step leaves."""
