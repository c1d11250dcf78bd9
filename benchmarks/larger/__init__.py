"""Policies of the sizes that people train, in the cart pole and the lander."""
