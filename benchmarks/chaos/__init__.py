"""Sweeps whose workers, driver and journal are damaged on the way."""
