"""Kernels as operators of ONNX: values with reference rows, and exact coordinates."""

from __future__ import annotations

from functools import reduce, singledispatch
from typing import Any

import numpy as np
from scipy import linalg, sparse

from depmax.data.sample import Reference
from depmax.kernels import (
    Distance,
    Gaussian,
    InverseDistance,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Polynomial,
    RidgeKernel,
    as_kernel,
)
from depmax.kernels.adapters import FromMap
from depmax.kernels.composite import Composite
from depmax.kernels.kernel import Part, as_list


class Operations:
    """Operators of ONNX by their names; constants among the operands get the type of the input."""

    def __init__(self, given: Any, opset: int) -> None:
        from skl2onnx.common.data_types import guess_numpy_type

        self.dtype = guess_numpy_type(given.type)
        self.opset = opset

    def __getattr__(self, name: str) -> Any:
        from skl2onnx.algebra import onnx_ops

        operator = getattr(onnx_ops, f"Onnx{name}")

        def apply(*operands: Any, **settings: Any) -> Any:
            typed = [self._typed(operand) for operand in operands]
            return operator(*typed, op_version=self.opset, **settings)

        return apply

    def _typed(self, operand: Any) -> Any:
        if isinstance(operand, float):
            operand = np.array([operand])
        if isinstance(operand, np.ndarray) and operand.dtype.kind == "f":
            return operand.astype(self.dtype)
        return operand


def against(reference: Reference, g: Operations, x: Any) -> Any:
    """Node of the kernel values of rows with reference rows, of shape (n_samples, n_reference)."""
    if reference.kernel is None:  # rows are kernel values with every training row
        return g.Gather(x, np.asarray(reference.rows, dtype=np.int64), axis=1)
    rows = reference.rows
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if rows.dtype.kind not in "fiub":
        raise _refused(reference.kernel)
    return values(reference.kernel, g, x, rows.astype(np.float64))


@singledispatch
def values(kernel: Kernel, g: Operations, x: Any, Z: np.ndarray) -> Any:
    """Node of k(x, z) for the rows z of Z."""
    raise _refused(kernel)


def _refused(kernel: Kernel) -> TypeError:
    return TypeError(
        f"{type(kernel).__name__} cannot be written as an ONNX graph: use a kernel of numbers that "
        "can, such as Gaussian, Laplace, Linear or Polynomial, or depmax.save_model."
    )


@values.register
def _(kernel: Linear, g: Operations, x: Any, Z: np.ndarray) -> Any:
    return g.MatMul(x, Z.T)


@values.register
def _(kernel: Polynomial, g: Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Pow(g.Add(g.MatMul(x, Z.T), float(kernel.offset)), float(kernel.degree))


@values.register
def _(kernel: Gaussian, g: Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Exp(g.Mul(_squares(g, x, Z), -0.5 / kernel._width() ** 2))


@values.register
def _(kernel: Laplace, g: Operations, x: Any, Z: np.ndarray) -> Any:
    distances = _city_block(g, x, Z) if kernel.norm_ == 1 else g.Sqrt(_squares(g, x, Z))
    return g.Exp(g.Mul(distances, -1.0 / kernel._width()))


@values.register
def _(kernel: InverseMultiquadric, g: Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Reciprocal(g.Sqrt(g.Add(_squares(g, x, Z), kernel._width() ** 2)))


@values.register
def _(kernel: InverseDistance, g: Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Reciprocal(g.Add(g.Sqrt(_squares(g, x, Z)), kernel._width()))


@values.register
def _(kernel: Distance, g: Operations, x: Any, Z: np.ndarray) -> Any:
    power = float(kernel.exponent) / 2.0
    own = g.Pow(_square_norms(g, x, Z.shape[1]), power)
    others = (Z**2).sum(axis=1) ** power
    return g.Mul(g.Add(g.Sub(own, g.Pow(_squares(g, x, Z), power)), others), 0.5)


@values.register
def _(kernel: RidgeKernel, g: Operations, x: Any, Z: np.ndarray) -> Any:
    inner, reference = as_kernel(kernel.kernel), np.asarray(kernel.reference, dtype=np.float64)
    counts = np.ones(len(reference)) if kernel.reference_weight is None else kernel.reference_weight
    penalised = inner(reference) + np.diag(float(kernel.alpha) / np.asarray(counts))
    if np.array_equal(reference, Z):  # the usual case, without a difference of large numbers
        return g.MatMul(values(inner, g, x, reference), linalg.inv(penalised) / np.asarray(counts))
    shares = linalg.solve(penalised, inner(reference, Z), assume_a="pos")
    explained = g.MatMul(values(inner, g, x, reference), shares)
    return g.Div(g.Sub(values(inner, g, x, Z), explained), float(kernel.alpha))


@values.register
def _(kernel: Composite, g: Operations, x: Any, Z: np.ndarray) -> Any:
    found = [
        _weighted(g, values(part.kernel, g, _columns(g, x, part), part.of(Z)), part.weight)
        for part in kernel._parts.counting
    ]
    return reduce(g.Mul if kernel._parts.combine == "multiply" else g.Add, found)


@values.register
def _(kernel: FromMap, g: Operations, x: Any, Z: np.ndarray) -> Any:
    images = kernel.features(Z)
    images = images.toarray() if sparse.issparse(images) else np.asarray(images)
    return g.MatMul(features(kernel, g, x), images.astype(np.float64).T)


@singledispatch
def features(kernel: Kernel, g: Operations, x: Any) -> Any:
    """Node of the exact coordinates φ(x) of a kernel."""
    raise _refused(kernel)


@features.register
def _(kernel: Linear, g: Operations, x: Any) -> Any:
    return x


@features.register
def _(kernel: FromMap, g: Operations, x: Any) -> Any:
    from depmax.onnx.export import sub_estimator  # a map, whose rows are compared in turn

    return sub_estimator(kernel.transformer, g, x)


@features.register
def _(kernel: Composite, g: Operations, x: Any) -> Any:
    found = [
        _weighted(g, features(part.kernel, g, _columns(g, x, part)), np.sqrt(part.weight))
        for part in kernel._parts.counting
    ]
    if kernel._parts.combine == "multiply":
        return reduce(lambda left, right: _all_products(g, left, right), found)
    return g.Concat(*found, axis=1) if len(found) > 1 else found[0]


def _all_products(g: Operations, left: Any, right: Any) -> Any:
    """Every coordinate of one kernel times every one of the other, side by side."""
    outer = g.Mul(g.Unsqueeze(left, np.array([2])), g.Unsqueeze(right, np.array([1])))
    return g.Flatten(outer, axis=1)


def _columns(g: Operations, x: Any, part: Part) -> Any:
    """The columns that a part compares."""
    if part.columns is None:
        return x
    return g.Gather(x, np.array(as_list(part.columns), dtype=np.int64), axis=1)


def _weighted(g: Operations, node: Any, weight: float) -> Any:
    return node if weight == 1.0 else g.Mul(node, float(weight))


def _square_norms(g: Operations, x: Any, width: int) -> Any:
    return g.MatMul(g.Mul(x, x), np.ones((width, 1)))


def _squares(g: Operations, x: Any, Z: np.ndarray) -> Any:
    """Squared distances by one product, about the mean of Z for accuracy."""
    centre = Z.mean(axis=0)
    about, others = g.Sub(x, centre), Z - centre
    own = _square_norms(g, about, Z.shape[1])
    twice = g.MatMul(about, 2.0 * others.T)
    return g.Max(g.Add(g.Sub(own, twice), (others**2).sum(axis=1)), 0.0)


def _city_block(g: Operations, x: Any, Z: np.ndarray) -> Any:
    """Sums of absolute differences, a row at a time so that memory stays small."""
    from skl2onnx.algebra.complex_functions import onnx_cdist

    return onnx_cdist(
        x,
        Z.astype(g.dtype),
        metric="manhattan",
        dtype=g.dtype,
        op_version=g.opset,
        dim_in=Z.shape[1],
        dim_out=len(Z),
    )
