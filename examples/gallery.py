"""What the worked examples share: where pictures go, and data that do not come with depmax."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

from stand_ins import stand_in

from depmax.datasets import Dataset, fetch, fetchable, load_external

#: SHA-256 of the unpacked files that the pages were made from.
CHECKSUMS = {
    "adult": "aaed765a93d19cda249f2ad8390860454449d7b1ecd5fc9c19de63d99c17adea",
    "orange_juice_nir": "cb76fe6714c30a4e7961351c048c98b539eb0342072168e6460df12294d2f778",
    "colon": "57bd3d065c1849483ca99044029720dc90156fa05bb9d3415160a495d5392a40",
    "reuters_grain_text": "7f06367d61ccfd27f8324431dea034c965d0fa2c7ccbee842871482dcc3e6a17",
    "yahoo_arts": "d65844c8137e20b91d7d9648720c6248fe2b37959727b5de0803931324f93263",
    "eeg_physionet_s001_fists_feet": (
        "58cbfaa2abf79f64e9c1cf9071e7fd310babae3df95b64f6d81dea13da89326e"
    ),
}


def external(name: str) -> Dataset:
    """A data set of the folder that DEPMAX_DATA names, fetched, or made up with a note."""
    try:
        return load_external(name, sha256=CHECKSUMS[name])
    except ValueError as error:
        print(f"note: {error} Figures may differ from those of the page.", file=sys.stderr)
        return load_external(name)
    except FileNotFoundError as error:
        reason = str(error)
    if name in fetchable():
        try:
            fetched = replace(fetch(name), target_name="target")
        except OSError as error:
            reason = str(error)
        else:
            print(f"note: {name} is fetched: its rows are in another order.", file=sys.stderr)
            return fetched
    print(
        f"note: {reason}\nThe rows below are made up in the place of {name}: figures and picture "
        "are not those of the page. docs/gallery/README.md says where the real data come from.",
        file=sys.stderr,
    )
    return stand_in(name)


def save(figure: mpl.figure.Figure, name: str) -> None:
    """Save a picture in the folder that DEPMAX_PICTURES names, by default that of the docs."""
    docs = Path(__file__).parents[1] / "docs" / "images" / "gallery"
    folder = Path(os.environ.get("DEPMAX_PICTURES", docs))
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=90)
