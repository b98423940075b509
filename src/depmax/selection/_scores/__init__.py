"""Scores of single columns, all found by name in the registry."""
