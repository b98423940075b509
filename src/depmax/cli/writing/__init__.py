"""Tables to files, a batch of rows at a time: one file per format."""

from depmax.cli.writing.formats import open_writer, require_format
from depmax.cli.writing.writer import Writer

__all__ = ["Writer", "open_writer", "require_format"]
