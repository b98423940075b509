"""Greedy search over columns: units, weights of pairs, rounds, what each change would do."""
