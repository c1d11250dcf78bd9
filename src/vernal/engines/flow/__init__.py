"""Engines of continuous time: claims about all trajectories of a flow."""
