"""Sums over samples in feature space, and criteria → directions, in the smaller dimension."""
