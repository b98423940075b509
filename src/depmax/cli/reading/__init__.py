"""Data files as tables: one file per format."""

from depmax.cli.reading.formats import Source, open_source, suffix_of

__all__ = ["Source", "open_source", "suffix_of"]
