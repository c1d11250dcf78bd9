"""How far the executors scale: measured costs, a model of many workers, and a run of many that sleep."""
