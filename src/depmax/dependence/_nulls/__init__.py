"""The law of HSIC under independence: exact moments, permutations, sorted columns."""
