"""Directions of statsmodels' SIR and PHD on the bundled real data, kept in a file beside this one.

``python tests/references/make_statsmodels.py`` needs the extra ``bench``; tests only read the
file. Nothing of depmax takes part in the values but its data sets.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from depmax.datasets import load

FOLDER = Path(__file__).parent

#: Numbers of slices, such that statsmodels makes so many of its number of rows per slice.
SLICES = (5, 12)


@dataclass(frozen=True)
class Case:
    """Some columns of a bundled set against the sum of others, standardised: no two are equal."""

    name: str
    x: tuple[str, ...]
    y: tuple[str, ...]
    every: int = 1

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """X of shape (n_samples, len(x)) and y of shape (n_samples,), floats."""
        data = load(self.name)
        target = self._columns(data, self.y)
        return self._columns(data, self.x), (target / target.std(axis=0)).sum(axis=1)

    def _columns(self, data: Any, names: tuple[str, ...]) -> np.ndarray:
        positions = [data.feature_names.index(name) for name in names]
        return data.X[:: self.every, positions].astype(np.float64)


CASES = (
    Case(
        "wine",
        ("alcohol", "ash", "magnesium", "flavanoids"),
        ("hue", "proline", "proanthocyanins"),
    ),
    Case(
        "wdbc",
        ("mean radius", "mean texture", "mean smoothness"),
        ("worst area", "worst concavity"),
        every=3,
    ),
    Case(
        "abalone",
        ("Length", "Height", "Shell weight"),
        ("Whole weight", "Shucked weight", "Viscera weight"),
        every=20,
    ),
)


def answer(case: Case) -> dict[str, Any]:
    """Directions (rows, of unit length) and eigenvalues of both methods."""
    from statsmodels.regression.dimred import PrincipalHessianDirections, SlicedInverseReg

    X, y = case.read()
    assert len(np.unique(y)) == len(y)
    results = {
        f"sir_{count}": SlicedInverseReg(y, X).fit(slice_n=len(y) // count)  # rows per slice
        for count in SLICES
    }
    results["phd"] = PrincipalHessianDirections(y, X).fit()
    results["phd_residuals"] = PrincipalHessianDirections(y, X).fit(resid=True)
    return {"case": asdict(case)} | {name: _rounded(result) for name, result in results.items()}


def _rounded(result: Any) -> dict[str, Any]:
    directions = np.asarray(result.params).T
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return {
        "directions": [[round(float(value), 10) for value in row] for row in directions],
        "eigenvalues": [float(f"{value:.10g}") for value in np.asarray(result.eigs)],
    }


def main() -> None:
    """Remake the file, one case per line."""
    origin = {
        "library": "statsmodels",
        "version": version("statsmodels"),
        "command": "python tests/references/make_statsmodels.py",
        "date": date.today().isoformat(),
        "values": "params (rows of unit length) and eigs of SlicedInverseReg and "
        "PrincipalHessianDirections",
    }
    values = [answer(case) for case in CASES]
    lines = ",\n".join(json.dumps(value) for value in values)
    path = FOLDER / "statsmodels.json"
    path.write_text(f'{{"origin": {json.dumps(origin)},\n"values": [\n{lines}\n]}}\n')
    print(f"{path}: {len(values)} cases from statsmodels {origin['version']}")


if __name__ == "__main__":
    main()
