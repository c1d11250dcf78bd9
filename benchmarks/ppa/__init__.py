"""Planning models with neural policies, after ICAPS 2022: Racetrack, Blocksworld, the 8-puzzle and Transport."""
