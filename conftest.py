"""Which files are collected where an optional library is missing."""

from importlib.util import find_spec

# Their doctests need torch; tests/neural says so when it is skipped.
collect_ignore_glob = [] if find_spec("torch") else ["src/depmax/neural/*"]
