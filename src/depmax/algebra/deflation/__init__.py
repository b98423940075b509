"""Deflation: orthogonal features along directions that a criterion chooses."""
