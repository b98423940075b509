"""NeuroStructure maximises the structure that it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

from depmax import hsic
from depmax.datasets import make_rings
from depmax.kernels import Delta, Gaussian
from depmax.neural import FullBatch, NeuroHSCA, NeuroStructure

X, y = make_rings(120, random_state=0)
FAST = {"solver": FullBatch(max_iter=60, n_hops=0), "random_state": 0, "validation_fraction": 0.0}


def dependence(f: np.ndarray, z: np.ndarray, kernel: Any, *, unbiased: bool = False) -> float:
    """From the definition, of a standardised feature."""
    own = {"kernel": Gaussian(1.0)}
    with_z = hsic(f, z, **own, target_kernel=kernel, unbiased=unbiased)
    of_f = hsic(f, f, **own, target_kernel=Gaussian(1.0), unbiased=False)
    of_z = hsic(z, z, kernel=kernel, target_kernel=kernel, unbiased=False)
    return float(with_z / np.sqrt(of_f * of_z))


def measured(features: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """The three dependences of the second of two features."""
    f, earlier = features[:, 1:], features[:, :1]
    return np.array(
        [
            dependence(f, y, Delta(), unbiased=True),
            dependence(f, earlier, Gaussian(1.0)),
            dependence(f, inputs, Gaussian(2.0)),
        ]
    )


@pytest.mark.parametrize("combine", ["sum", "quotient"])
def test_dependences_are_those_of_the_definition(combine: Any) -> None:
    model = NeuroStructure(2, combine=combine, features=-1.0, inputs=0.5, **FAST).fit(X, y)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = measured(model.transform(X), standard)
    np.testing.assert_allclose(model.dependences_[1], expected, rtol=1e-3, atol=1e-4)


def test_the_default_is_the_published_quotient() -> None:
    """Equation 4.23. NeuroHSCA has its first feature, and takes it out of what follows."""
    structure = NeuroStructure(2, **FAST).fit(X, y)
    task_of = structure.dependences_[:, 0] / (0.05 + structure.dependences_[:, 1])
    features = structure.transform(X)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    found = measured(features, standard)
    assert task_of[1] == pytest.approx(found[0] / (0.05 + found[1]), rel=1e-2)
    first = [features[:, 0], NeuroHSCA(1, **FAST).fit_transform(X, y)[:, 0]]
    assert abs(np.corrcoef(first)[0, 1]) > 0.8  # which is not divided by its own HSIC there


def test_a_larger_weight_avoids_earlier_features_more() -> None:
    found = [
        NeuroStructure(2, combine="sum", features=weight, **FAST).fit(X, y).dependences_[1, 1]
        for weight in (-0.1, -5.0)
    ]
    assert found[1] < 0.3 < found[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": 0.0}, "target of NeuroStructure"),
        ({"features": 0.0}, "features of NeuroStructure"),
        ({"inputs": "much"}, "inputs of NeuroStructure"),
        ({"combine": "product"}, "combine of NeuroStructure"),
        ({"hidden_layers": ()}, "activation"),
    ],
)
def test_what_makes_no_structure_is_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        NeuroStructure(2, **options).fit(X, y)
