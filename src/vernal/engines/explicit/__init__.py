"""The engine `explicit`: the reachable graph of a finite system, and full CTL and LTL on it."""
