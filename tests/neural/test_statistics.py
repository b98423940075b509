"""HSIC of network outputs equals that of the measures.

Private modules: statistics of batches are compared with measures before an optimiser moves them.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression

torch = pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

from depmax import GaussianGraph, NeighborGraph, alignment, hsic
from depmax.kernels import Gaussian
from depmax.neural import _statistics as statistics
from depmax.neural._statistics import Smoothness, white_hsic

rng = np.random.default_rng(0)
F = rng.normal(size=(30, 2))
Y = rng.normal(size=(30, 3)) + F[:, :1]


@pytest.mark.parametrize("unbiased", [True, False])
def test_hsic_is_that_of_the_measure(unbiased):
    K = statistics.gram(torch.as_tensor(F), "gaussian")
    expected = hsic(F, Y, kernel=Gaussian(np.sqrt(2.0)), target_kernel="linear", unbiased=unbiased)
    if not unbiased:
        L = torch.as_tensor(Y @ Y.T)
        assert float(statistics.hsic0(K, L)) == pytest.approx(expected)
    factor = torch.as_tensor(Y)
    assert float(statistics.hsic_with(K, factor, unbiased=unbiased)) == pytest.approx(expected)


def test_alignment_is_that_of_the_measure():
    K, L = (statistics.gram(torch.as_tensor(values), "linear") for values in (F, Y))
    expected = alignment(F, Y, kernel="linear", target_kernel="linear")
    assert float(statistics.alignment(K, L)) == pytest.approx(expected)


def test_white_outputs():
    white = statistics.whiten(torch.as_tensor(F @ [[1.0, 2.0], [0.0, 0.1]] + 5.0)).numpy()
    np.testing.assert_allclose(white.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(white.T @ white / 30, np.eye(2), atol=1e-2)


def test_constant_outputs_are_not_nan():
    assert torch.isfinite(statistics.whiten(torch.ones(10, 2))).all()


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_closed_form_and_its_gradient(kernel, unbiased):
    factor = torch.as_tensor(Y - Y.mean(axis=0))
    slow = torch.as_tensor(F @ [[1.0, 2.0], [0.0, 0.5]] + 3.0).requires_grad_()
    fast = slow.detach().clone().requires_grad_()
    K = statistics.gram(statistics.whiten(slow), kernel)
    expected = statistics.hsic_with(K, factor, unbiased=unbiased)
    found = white_hsic(fast, factor, kernel, unbiased=unbiased)
    assert found.item() == pytest.approx(expected.item())
    expected.backward()
    (2.0 * found).backward()
    np.testing.assert_allclose(fast.grad, 2.0 * slow.grad, atol=1e-4 * float(slow.grad.abs().max()))
    weighted = white_hsic(fast, factor, kernel, unbiased=unbiased, weight=-0.5)
    assert weighted.item() == pytest.approx(-0.5 * expected.item())


def test_closed_form_has_the_numerical_gradient(monkeypatch):
    # whose whitening has no ridge
    monkeypatch.setattr(statistics, "RIDGE", 0.0)
    factor = torch.as_tensor(Y)

    def value(outputs):
        return white_hsic(outputs, factor, "gaussian", unbiased=True, weight=-2.0)

    outputs = torch.as_tensor(F, dtype=torch.float64).clone().requires_grad_()
    assert torch.autograd.gradcheck(value, (outputs,))


def test_closed_form_in_single_precision():
    outputs = torch.as_tensor(F, dtype=torch.float32)
    factor = torch.as_tensor(Y, dtype=torch.float32)
    exact = white_hsic(outputs.double(), factor.double(), "gaussian", unbiased=True)
    assert white_hsic(outputs, factor, "gaussian", unbiased=True).item() == pytest.approx(
        exact.item(), rel=1e-4
    )


def test_outputs_that_are_not_finite_give_nan():
    outputs = torch.as_tensor(F).clone()
    outputs[3, 1] = torch.inf
    assert torch.isnan(white_hsic(outputs, torch.as_tensor(Y), "gaussian", unbiased=True))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("graph", [NeighborGraph, GaussianGraph])
def test_roughness_and_its_gradient(graph, normalized):
    smoothness = Smoothness.of(Y, graph(normalized=normalized))
    delta = smoothness.laplacian.matrix()
    delta = delta.toarray() if sparse.issparse(delta) else delta
    rows = torch.as_tensor(F, dtype=torch.float64)
    torch.manual_seed(0)  # the same weights in every run
    module = torch.nn.Linear(2, 2, dtype=torch.float64)
    white = statistics.whiten(module(rows)).detach().numpy()
    expected = np.trace(white.T @ delta @ white) / (2 * np.trace(delta))
    assert smoothness.of_all(module(rows)).item() == pytest.approx(expected)
    drawn = np.random.RandomState(0)
    some = smoothness.of_some(lambda places: module(rows[places]), 20_000, drawn)
    assert some.item() == pytest.approx(expected, rel=0.1)
    inputs = rows.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda values: smoothness.of_all(module(values)), (inputs,))


def test_gradient_is_the_numerical_one():
    factor, L = torch.as_tensor(Y), torch.as_tensor(Y @ Y.T)

    def value(outputs):
        K = statistics.gram(statistics.whiten(outputs), "gaussian")
        return statistics.hsic_with(K, factor, unbiased=True), statistics.alignment(K, L)

    outputs = torch.as_tensor(F, dtype=torch.float64).clone().requires_grad_()
    assert torch.autograd.gradcheck(value, (outputs,))


def test_outputs_without_what_features_explain(rng):
    features = torch.as_tensor(rng.normal(size=(len(F), 2)))
    outputs = torch.as_tensor(F, dtype=torch.float64).clone().requires_grad_()
    rest = statistics.uncorrelated(outputs, features).detach().numpy()
    explained = LinearRegression().fit(features.numpy(), F)
    expected = (
        F
        - explained.predict(features.numpy())
        + explained.predict(features.numpy().mean(axis=0, keepdims=True))
    )
    np.testing.assert_allclose(rest, expected, atol=1e-4)  # the ridge is 1e-6
    assert torch.autograd.gradcheck(lambda o: statistics.uncorrelated(o, features), (outputs,))
