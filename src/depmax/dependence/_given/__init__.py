"""Dependence given confounders: regressions on them, and what their residuals say."""
