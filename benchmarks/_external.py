"""``load_external`` of the published tables, for the scripts of this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reproduction.external import load_external

__all__ = ["load_external"]
