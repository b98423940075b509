"""Scores of single columns, one family per file, all found by name in the registry."""

from depmax.selection.scores.registry import SCORES, find_score
from depmax.selection.scores.score import Score, Scored

__all__ = ["SCORES", "Score", "Scored", "find_score"]
