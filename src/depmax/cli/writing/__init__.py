"""Tables to files, a batch of rows at a time: one file per format."""

from depmax.cli.writing.formats import Writer, open_writer, require_format

__all__ = ["Writer", "open_writer", "require_format"]
