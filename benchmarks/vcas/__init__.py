"""VerticalCAS, measured: `python -m benchmarks.vcas`."""
