"""What results look like in a notebook: a table, a picture, and nothing that the data could run."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.naive_bayes import GaussianNB

from depmax import compare, hsic_test, screen
from depmax.kernels import as_kernel


@pytest.fixture(name="data", scope="module")
def make_data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["<script>", "b & c", "dose"])
    return frame, (frame["dose"] > 0).astype(int)


def test_screening(data):
    found = screen(*data)
    page = found._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "1 of 3 columns depends" in page
    assert "-0" not in page  # what is no dependence is shown as 0
    display = found.plot(ax=Figure().add_subplot())
    assert display.scores.min() >= 0.0


@pytest.mark.parametrize(
    ("method", "statistic"),
    [("aggregate", "standardized HSIC"), ("permutation", "HSIC")],
)
def test_independence_test(data, method, statistic):
    frame, y = data
    found = hsic_test(frame[["dose"]], y, method=method, random_state=0, n_permutations=200)
    assert found.method == method
    assert len(found.permuted) == 200
    assert "permuted" not in repr(found)
    assert "<0.001" in found._repr_html_() or "0.005" in found._repr_html_()
    assert f">{statistic}</th>" in found._repr_html_()
    display = found.plot(ax=Figure().add_subplot())
    assert display.statistic == found.statistic
    assert display.label == statistic
    with pytest.raises(ValueError, match="draws no permutations"):
        hsic_test(frame[["dose"]], y, method="gamma").plot()


def test_comparison(data):
    found = compare(*data, ["correlation filter", "PCA"], judge=GaussianNB(), cv=3)
    page = found._repr_html_()
    assert "<strong>" in page
    assert "correlation filter" in page
    assert "<script>" not in page


@pytest.mark.parametrize(("name", "ours"), [("rbf", "gaussian"), ("poly", "polynomial")])
def test_names_from_elsewhere_are_hinted_at(name, ours):
    with pytest.raises(ValueError, match=f"Did you mean '{ours}'"):
        as_kernel(name)
