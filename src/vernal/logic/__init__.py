"""Formulas over model expressions: tree, parser, normal forms, semantics on traces, automata."""
