"""What `make wheel` runs with the wheel: every package, the data, a model in a file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np

import depmax
from depmax import datasets


def main() -> None:
    installed = Path(depmax.__file__)
    assert "site-packages" in installed.parts, f"not the wheel: {installed}"
    assert version("depmax") == depmax.__version__
    assert files("depmax").joinpath("py.typed").is_file()
    for name in datasets.available():
        datasets.load(name)
    sonar = datasets.load("sonar")
    assert depmax.screen(sonar.X, sonar.y).pvalues.min() < 1e-6
    few = depmax.BAHSIC(5, pvalues=False).fit(sonar.X, sonar.y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        depmax.save_model(few, path)
        again = depmax.load_model(path)
        assert np.array_equal(again.transform(sonar.X), few.transform(sonar.X))
        run = [sys.executable, "-m", "depmax"]
        subprocess.run([*run, "screen", "bundled:wine", "--json"], check=True, capture_output=True)
        compare = ["compare", "bundled:wine", "-m", "PCA", "--report", f"{folder}/report.html"]
        subprocess.run([*run, *compare], check=True, capture_output=True)
        assert (Path(folder) / "report.html").stat().st_size > 10_000
    print(f"depmax {depmax.__version__} works from {installed.parent}")


if __name__ == "__main__":
    main()
