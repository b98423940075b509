"""Scores of single columns, one family per file, all found by name in the registry."""

from depmax.selection._scores.registry import SCORES, Score, Scored, find_score

__all__ = ["SCORES", "Score", "Scored", "find_score"]
