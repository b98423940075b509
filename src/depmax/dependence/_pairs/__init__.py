"""The parts of ``screen_pairs``: columns, targets, normal equations, ranking, confirmation."""
