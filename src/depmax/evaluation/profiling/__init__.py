"""Profiles of tables: what to know about the columns before there is a target."""

from depmax.evaluation.profiling.profile import Profile, profile

__all__ = ["Profile", "profile"]
