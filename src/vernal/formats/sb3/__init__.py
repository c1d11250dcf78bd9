"""Policies of stable-baselines3: saved ones, read without running anything that is in the file, and those in memory."""
