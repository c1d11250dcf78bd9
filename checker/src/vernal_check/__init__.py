"""vernal-check: a small program that checks certificates of Vernal and shares no code with it."""
