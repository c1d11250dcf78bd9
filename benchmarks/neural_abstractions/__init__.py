"""The six models of the NeurIPS 2022 paper, measured; their task files are in benchmarks/neural-abstractions."""
