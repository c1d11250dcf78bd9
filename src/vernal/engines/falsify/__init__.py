"""The engine `falsify`: batched simulation and local search for a counterexample."""
