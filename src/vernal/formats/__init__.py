"""Doors to the outside: task files, networks, planning models, queries, automata, traces."""
