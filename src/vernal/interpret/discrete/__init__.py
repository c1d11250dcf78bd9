"""Conditions on discrete variables, solved."""
