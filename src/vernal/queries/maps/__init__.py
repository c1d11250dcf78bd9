"""Maps: where in a region of starts and parameters a claim holds."""
