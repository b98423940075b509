"""What the worked examples share: where pictures go, and data that do not come with depmax."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

from depmax.datasets import Dataset, load_external


def external(name: str) -> Dataset:
    """A data set of the folder that DEPMAX_DATA names, or the end with a line on what to do."""
    try:
        return load_external(name)
    except FileNotFoundError as error:
        sys.exit(f"{error}\nSee docs/gallery/README.md for where {name}.csv.gz comes from.")


def save(figure: mpl.figure.Figure, name: str) -> None:
    """Save a picture in the folder that DEPMAX_PICTURES names, by default that of the docs."""
    docs = Path(__file__).parents[1] / "docs" / "images" / "gallery"
    folder = Path(os.environ.get("DEPMAX_PICTURES", docs))
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=90)
