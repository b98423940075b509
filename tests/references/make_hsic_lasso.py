"""Selections of pyHSICLasso on the bundled real data, kept in a file beside this one.

``python tests/references/make_hsic_lasso.py`` needs the extra ``bench``; tests only read the file.
Nothing of depmax takes part in the values but its data sets.
"""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from depmax.datasets import load

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class LassoCase:
    """Some rows of a bundled set, and the parameters of pyHSICLasso."""

    name: str
    rows: int  # rows taken, evenly spaced; divisible by block_size
    n_features: int
    block_size: int = 0  # B; 0 takes all samples at once
    n_permutations: int = 1  # M
    numbers: bool = False  # regression instead of classification

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Floats X without constant columns, and y: floats or codes of classes."""
        data = load(self.name)
        rows = np.linspace(0, len(data.y) - 1, self.rows).astype(int)
        numeric = [j for j in range(data.X.shape[1]) if not isinstance(data.X[0, j], str)]
        X = data.X[rows][:, numeric].astype(np.float64)
        X = X[:, X.std(axis=0) > 0]
        y = data.y[rows]
        return X, y.astype(np.float64) if self.numbers else np.unique(y, return_inverse=True)[1]


CASES = (
    LassoCase("sonar", 208, 10),
    LassoCase("sonar", 200, 8, block_size=20, n_permutations=3),
    LassoCase("wine", 178, 6),
    LassoCase("ionosphere", 351, 10),
    LassoCase("ionosphere", 350, 6, block_size=50, n_permutations=2),
    LassoCase("wdbc", 569, 6),
    LassoCase("heart_statlog", 270, 6),
    LassoCase("heart_statlog", 270, 6, block_size=30, n_permutations=3),
    LassoCase("dermatology", 358, 10),
    LassoCase("abalone", 400, 4, numbers=True),
    LassoCase("abalone", 400, 4, block_size=20, n_permutations=3, numbers=True),
)


def answer(case: LassoCase) -> dict[str, Any]:
    """Features in the order in which they entered the path, coefficients and penalties.

    Where the path reaches λ = 0, pyHSICLasso appends a feature whose coefficient is zero, and the
    largest correlation left, which is negative, to the penalties: both are left out.
    """
    from pyHSICLasso import HSICLasso

    X, y = case.read()
    lasso = HSICLasso()
    with contextlib.redirect_stdout(io.StringIO()):
        lasso.input(X, y)
        run = lasso.regression if case.numbers else lasso.classification
        run(case.n_features, B=case.block_size, M=case.n_permutations, n_jobs=1, max_neighbors=2)
    steps = lasso.path.shape[1]  # the coefficients at the start, all zero, and after each step
    entry = {int(j): int(np.flatnonzero(lasso.path[j])[0]) for j in lasso.A if lasso.beta[j] > 0}
    return {
        "case": asdict(case),
        "order": sorted(entry, key=lambda j: entry[j]),
        "coef": {str(j): round(float(lasso.beta[j, 0]), 8) for j in sorted(entry)},
        "penalties": [round(float(value), 8) for value in lasso.lam[0, :steps] if value > 0],
    }


def main() -> None:
    """Remake the file, one case per line."""
    warnings.simplefilter("ignore")  # of pyHSICLasso
    origin = {
        "library": "pyHSICLasso",
        "version": version("pyHSICLasso"),
        "command": "python tests/references/make_hsic_lasso.py",
        "date": date.today().isoformat(),
        "values": "features in order of entry, beta and lam of its non-negative LARS; float32",
    }
    values = [answer(case) for case in CASES]
    lines = ",\n".join(json.dumps(value) for value in values)
    path = FOLDER / "hsic_lasso.json"
    path.write_text(f'{{"origin": {json.dumps(origin)},\n"values": [\n{lines}\n]}}\n')
    print(f"{path}: {len(values)} cases from pyHSICLasso {origin['version']}")


if __name__ == "__main__":
    main()
