"""Nonlinear flows of the yearly friendly competition (ARCH-COMP, category NLN)."""
