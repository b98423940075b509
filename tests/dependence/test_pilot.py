"""A side about a pilot mean: one centred matrix, and one diagonal for tiles, takes and diag."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from depmax.data.sample import Sample, read_target_sample
from depmax.kernels import Delta, Distance, Gaussian, Linear, Polynomial, Spectrum

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(40, 30)) + 5.0
SIDES: dict[str, tuple[Any, Any]] = {
    "linear, narrow": (ROWS[:, :3], Linear()),
    "linear, wide": (ROWS, Linear()),
    "polynomial": (ROWS[:, :3], Polynomial(3)),
    "distance": (ROWS, Distance()),
    "gaussian": (ROWS, Gaussian()),
    "sum": (ROWS, Gaussian(2.0) + Distance()),
    "matrix": (ROWS @ ROWS.T, "precomputed"),
    "strings": (["".join(rng.choice(list("ab"), 6)) for _ in range(40)], Spectrum(2)),
    "classes": (np.arange(40) % 3, Delta()),
}


def _sides() -> dict[str, Sample]:
    sides = {name: read_target_sample(*given) for name, given in SIDES.items()}
    narrow = sparse.csr_array(np.round(ROWS[:, :3]))
    return sides | {"sparse": Sample(Linear(), narrow, 40)}


@pytest.mark.parametrize("name", [*SIDES, "sparse"])
def test_diagonal_tiles_and_centred_matrix_agree(name: str) -> None:
    side = _sides()[name]
    moved = side.about_mean()
    whole = moved.gram()
    scale = np.abs(side.gram()).max()
    np.testing.assert_allclose(moved.diag(), np.diag(whole), atol=1e-12 * scale)
    some = np.array([3, 7, 8, 30])
    part = moved.take(some)
    np.testing.assert_allclose(part.gram(), whole[np.ix_(some, some)], atol=1e-12 * scale)
    np.testing.assert_allclose(part.diag(), moved.diag()[some], atol=1e-12 * scale)
    np.testing.assert_allclose(moved.tile(slice(2, 5), some), whole[2:5, some], atol=1e-12 * scale)
    H = np.eye(40) - 1 / 40
    np.testing.assert_allclose(H @ whole @ H, H @ side.gram() @ H, atol=1e-11 * scale)
    again = moved.about_mean()  # nothing moves twice
    np.testing.assert_allclose(again.gram(), whole, atol=1e-12 * scale)
