"""Kernel ridge regression on landmark rows, and elimination of columns under it."""
