"""Keras .h5 files as networks."""
