"""Readers and writers of files: tasks, networks, queries."""
