"""Fitted models as ONNX graphs, which many programs and devices run without Python.

What a fitted model of depmax does to new rows is little: columns are taken, or kernel values with
some rows, or a map, and then one product. Each of these is a function below, found by the type of
the part, and skl2onnx puts them together with the steps of scikit-learn around them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import reduce, singledispatch
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import linalg, sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from depmax import _version
from depmax._extras import require
from depmax._files import expand_home, replacing
from depmax.evaluation import FillGaps, PrepareColumns
from depmax.extraction import DependenceExtractor
from depmax.kernels import (
    Columns,
    Distance,
    Gaussian,
    InverseDistance,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Polynomial,
    Product,
    RidgeKernel,
    Scaled,
    Sum,
    as_kernel,
)
from depmax.kernels.columns import as_list
from depmax.kernels.names import FromMap
from depmax.maps import KernelMap, NystroemMap, RandomFourier
from depmax.maps._pivots import PivotMap
from depmax.pencils.projection import FeatureProjection, SampleProjection
from depmax.samples import Reference
from depmax.selection import DependenceSelector

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["to_onnx"]

#: Name of the only input of a graph.
INPUT = "X"


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    target_opset: int | None = None,
) -> ModelProto:
    """ONNX graph that gives what ``model.transform`` does, or what a pipeline predicts.

    Selectors, extractors and maps of depmax, alone or in pipelines with what skl2onnx converts:
    scalers, imputers, and a classifier or regressor at the end. Kernels may be linear, polynomial,
    Gaussian, Laplace, inverse (multi)quadric, distance and ridge kernels, sums, products and
    multiples of them, kernels per column, and maps. Others are refused by name: those of strings,
    graphs and categories, functions of your own, and ``depmax.neural``.

    Parameters
    ----------
    model : estimator
        Fitted on a table of numbers.
    path : path, optional
        Also write the graph to this file.
    dtype : {"float64", "float32"}, default="float64"
        Of the input ``X`` and of all that is computed. In double precision features agree with
        ``transform`` to about ten digits, in single precision to about three (two with
        ``RidgeKernel``).
    target_opset : int, optional
        Version of the operators, for older runtimes; by default the newest that skl2onnx knows.

    Returns
    -------
    onnx.ModelProto
        With one input ``X`` of shape (n_samples, n_features). The names of columns and features
        are in its ``metadata_props``, as JSON.

    See Also
    --------
    save_model : A file for Python, of any model.

    Notes
    -----
    An extractor with a kernel compares new rows with training rows, which are therefore in the
    graph: all of them, or those of the basis of a sparse method or of a map.

    Examples
    --------
    >>> import depmax
    >>> from depmax import BAHSIC
    >>> from depmax.datasets import load
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> sonar = load("sonar")
    >>> model = make_pipeline(StandardScaler(), BAHSIC(3)).fit(sonar.X, sonar.y)
    >>> graph = depmax.to_onnx(model)
    >>> [node.op_type for node in graph.graph.node]
    ['Sub', 'Div', 'Gather', 'Identity']
    """
    require("An ONNX graph", "skl2onnx")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}.")
    check_is_fitted(model)
    _register(model)
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    tensor = DoubleTensorType if dtype == "float64" else FloatTensorType
    graph = convert_sklearn(
        model,
        name=type(model).__name__,
        initial_types=[(INPUT, tensor([None, int(model.n_features_in_)]))],
        target_opset=target_opset,
        options={"zipmap": False} if hasattr(model, "predict_proba") else None,
    )
    for key, value in _notes(model).items():
        entry = graph.metadata_props.add()
        entry.key, entry.value = key, json.dumps(value)
    if path is not None:
        with replacing(expand_home(path)) as temporary:
            temporary.write_bytes(graph.SerializeToString())
    return graph


def _notes(model: Any) -> dict[str, Any]:
    """What a reader of the graph should know."""
    notes: dict[str, Any] = {"depmax": _version.__version__}
    if hasattr(model, "feature_names_in_"):
        notes["columns"] = [str(name) for name in model.feature_names_in_]
    if not hasattr(model, "predict"):
        notes["features"] = [str(name) for name in model.get_feature_names_out()]
    return notes


# --- what skl2onnx is told ------------------------------------------------------------------------
def _register(model: Any) -> None:
    """Tell skl2onnx how to convert the parts of a model that are ours, or refuse them by name."""
    from skl2onnx import update_registered_converter

    for part in _parts(model):
        kind = type(part)
        if convert.dispatch(kind) is not convert.dispatch(object):
            update_registered_converter(
                kind, f"Depmax{kind.__name__}", _shape, _convert, parser=_parse
            )
        elif kind.__module__.startswith("depmax.") and hasattr(part, "fit"):
            raise TypeError(
                f"{kind.__name__} cannot be written as an ONNX graph. In a pipeline, export the "
                "steps before it: depmax.to_onnx(model[:-1])."
            )


def _parts(model: Any) -> Iterator[Any]:
    """The model and the estimators among its parameters."""
    yield model
    for value in model.get_params(deep=True).values():
        if isinstance(value, BaseEstimator):
            yield value


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """One output, whatever else the estimator is: some also predict."""
    operator = scope.declare_local_operator(f"Depmax{type(model).__name__}", model)
    operator.inputs = inputs
    kind = type(inputs[0].type)([None, len(model.get_feature_names_out())])
    operator.outputs.append(scope.declare_local_variable("features", kind))
    return list(operator.outputs)


def _shape(operator: Any) -> None:
    """Nothing: the shape of the output is declared with it."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model = operator.raw_operator
    if getattr(model, "categories_", None):
        raise TypeError(
            f"{type(model).__name__} was fitted on categorical columns, which a graph with one "
            "table of numbers as input cannot take: encode them first, e.g. with "
            "sklearn.preprocessing.OneHotEncoder, and export what follows."
        )
    if len(operator.inputs) != 1:
        raise TypeError(f"{type(model).__name__} takes one table, got {len(operator.inputs)}.")
    x = operator.inputs[0]
    g = _Operations(x, container.target_opset)
    g.Identity(convert(model, g, x), output_names=operator.outputs[:1]).add_to(scope, container)


class _Operations:
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


# --- estimators: g has the operators, x is the node of the rows -----------------------------------
@singledispatch
def convert(model: Any, g: _Operations, x: Any) -> Any:
    """Node of the features of rows."""
    raise TypeError(f"{type(model).__name__} cannot be written as an ONNX graph.")


@convert.register
def _(model: DependenceSelector, g: _Operations, x: Any) -> Any:
    kept = np.flatnonzero(model.get_support())
    if not kept.size:
        raise ValueError(f"{type(model).__name__} keeps no column: there is nothing to export.")
    return g.Gather(x, kept.astype(np.int64), axis=1)


@convert.register
def _(model: DependenceExtractor, g: _Operations, x: Any) -> Any:
    return convert(model._projection, g, x)


@convert.register
def _(model: FeatureProjection, g: _Operations, x: Any) -> Any:
    phi = features(model.kernel, g, x)
    if model.centre is not None:
        phi = g.Sub(phi, model.centre)
    return g.Sub(g.MatMul(phi, model.weights), model.shift)


@convert.register
def _(model: SampleProjection, g: _Operations, x: Any) -> Any:
    return g.Sub(g.MatMul(_against(model.reference, g, x), model.weights), model.offset)


@convert.register
def _(model: NystroemMap, g: _Operations, x: Any) -> Any:
    return g.MatMul(_against(model._reference, g, x), model._projection)


@convert.register
def _(model: KernelMap, g: _Operations, x: Any) -> Any:
    if model._reference is None:
        return g.MatMul(features(model.kernel_, g, x), model._projection)
    return g.MatMul(_against(model._reference, g, x), model._projection)


@convert.register
def _(model: PivotMap, g: _Operations, x: Any) -> Any:
    inverse = linalg.solve_triangular(model._triangle, np.eye(len(model._triangle)), lower=True)
    return g.MatMul(_against(model._reference, g, x), inverse.T)


@convert.register
def _(model: RandomFourier, g: _Operations, x: Any) -> Any:
    # cosines are sines of later phases: double precision has sines only in onnxruntime
    n_pairs = model._n_features_out // 2
    frequencies = model.frequencies_.astype(np.float64)
    paired, quarter = frequencies[:, :n_pairs], np.full(n_pairs, np.pi / 2)
    waves = np.hstack([paired, paired, frequencies[:, n_pairs:]])
    single = [model.offset_ + np.pi / 2] * (model._n_features_out % 2)
    delays = np.concatenate([quarter, 0.0 * quarter, single])
    sizes = np.ones(len(delays))
    sizes[2 * n_pairs :] = np.sqrt(2.0)
    phases = g.Add(g.MatMul(x, waves), delays)
    return g.Mul(g.Sin(phases), sizes / np.sqrt(frequencies.shape[1]))


@convert.register
def _(model: PrepareColumns, g: _Operations, x: Any) -> Any:
    return g.Div(g.Sub(x, model.mean_), model.scale_)


@convert.register
def _(model: FillGaps, g: _Operations, x: Any) -> Any:
    fills = list(model.fills_.values())
    if any(isinstance(fill, str) for fill in fills):
        raise TypeError(
            "FillGaps fills columns of text, which a graph with one table of numbers as input "
            "cannot take: leave them out, or encode them first."
        )
    return g.Where(g.IsNaN(x), np.array(fills, dtype=np.float64), x)


def _sub_estimator(model: Any, g: _Operations, x: Any) -> Any:
    """Node of another estimator, ours or one that skl2onnx converts."""
    if convert.dispatch(type(model)) is not convert.dispatch(object):
        return convert(model, g, x)
    if hasattr(model, "predict"):
        raise TypeError(
            f"{type(model).__name__} as a kernel cannot be written as an ONNX graph: skl2onnx "
            "converts what it predicts, not its features."
        )
    from skl2onnx.algebra.onnx_operator import OnnxSubEstimator

    return OnnxSubEstimator(model, x, op_version=g.opset)


# --- kernels --------------------------------------------------------------------------------------
def _against(reference: Reference, g: _Operations, x: Any) -> Any:
    """Node of the kernel values of rows with reference rows, of shape (n_samples, n_reference)."""
    if reference.kernel is None:  # rows are kernel values with every training row
        return g.Gather(x, np.asarray(reference.rows, dtype=np.int64), axis=1)
    rows = reference.rows
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if rows.dtype.kind not in "fiub":
        raise _refused(reference.kernel)
    return values(reference.kernel, g, x, rows.astype(np.float64))


@singledispatch
def values(kernel: Kernel, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    """Node of k(x, z) for the rows z of Z."""
    raise _refused(kernel)


def _refused(kernel: Kernel) -> TypeError:
    return TypeError(
        f"{type(kernel).__name__} cannot be written as an ONNX graph: use a kernel of numbers that "
        "can, such as Gaussian, Laplace, Linear or Polynomial, or depmax.save_model."
    )


@values.register
def _(kernel: Linear, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    return g.MatMul(x, Z.T)


@values.register
def _(kernel: Polynomial, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Pow(g.Add(g.MatMul(x, Z.T), float(kernel.offset)), float(kernel.degree))


@values.register
def _(kernel: Gaussian, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Exp(g.Mul(_squares(g, x, Z), -0.5 / kernel._width() ** 2))


@values.register
def _(kernel: Laplace, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    distances = _city_block(g, x, Z) if kernel.norm_ == 1 else g.Sqrt(_squares(g, x, Z))
    return g.Exp(g.Mul(distances, -1.0 / kernel._width()))


@values.register
def _(kernel: InverseMultiquadric, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Reciprocal(g.Sqrt(g.Add(_squares(g, x, Z), kernel._width() ** 2)))


@values.register
def _(kernel: InverseDistance, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Reciprocal(g.Add(g.Sqrt(_squares(g, x, Z)), kernel._width()))


@values.register
def _(kernel: Distance, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    power = float(kernel.exponent) / 2.0
    own = g.Pow(_square_norms(g, x, Z.shape[1]), power)
    others = (Z**2).sum(axis=1) ** power
    return g.Mul(g.Add(g.Sub(own, g.Pow(_squares(g, x, Z), power)), others), 0.5)


@values.register
def _(kernel: RidgeKernel, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    inner, reference = as_kernel(kernel.kernel), np.asarray(kernel.reference, dtype=np.float64)
    penalised = inner(reference) + float(kernel.alpha) * np.eye(len(reference))
    if np.array_equal(reference, Z):  # the usual case, without a difference of large numbers
        return g.MatMul(values(inner, g, x, reference), linalg.inv(penalised))
    shares = linalg.solve(penalised, inner(reference, Z), assume_a="pos")
    explained = g.MatMul(values(inner, g, x, reference), shares)
    return g.Div(g.Sub(values(inner, g, x, Z), explained), float(kernel.alpha))


@values.register
def _(kernel: Scaled, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Mul(values(kernel._kernel(), g, x, Z), float(kernel.factor))


@values.register
def _(kernel: Sum, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Add(*(values(part, g, x, Z) for part in kernel._kernels()))


@values.register
def _(kernel: Product, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    return g.Mul(*(values(part, g, x, Z) for part in kernel._kernels()))


@values.register
def _(kernel: Columns, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    parts = [
        values(part, g, _taken(g, x, where), Z[:, as_list(where)])
        for part, where in kernel._kernels()
    ]
    return reduce(g.Mul if kernel.combine == "multiply" else g.Add, parts)


@values.register
def _(kernel: FromMap, g: _Operations, x: Any, Z: np.ndarray) -> Any:
    images = kernel.features(Z)
    images = images.toarray() if sparse.issparse(images) else np.asarray(images)
    return g.MatMul(features(kernel, g, x), images.astype(np.float64).T)


@singledispatch
def features(kernel: Kernel, g: _Operations, x: Any) -> Any:
    """Node of the exact coordinates φ(x) of a kernel."""
    raise _refused(kernel)


@features.register
def _(kernel: Linear, g: _Operations, x: Any) -> Any:
    return x


@features.register
def _(kernel: FromMap, g: _Operations, x: Any) -> Any:
    return _sub_estimator(kernel.transformer, g, x)


@features.register
def _(kernel: Scaled, g: _Operations, x: Any) -> Any:
    return g.Mul(features(kernel._kernel(), g, x), float(np.sqrt(kernel.factor)))


@features.register
def _(kernel: Sum, g: _Operations, x: Any) -> Any:
    return g.Concat(*(features(part, g, x) for part in kernel._kernels()), axis=1)


@features.register
def _(kernel: Product, g: _Operations, x: Any) -> Any:
    return _all_products(g, *(features(part, g, x) for part in kernel._kernels()))


@features.register
def _(kernel: Columns, g: _Operations, x: Any) -> Any:
    parts = [features(part, g, _taken(g, x, where)) for part, where in kernel._kernels()]
    if kernel.combine == "add":
        return g.Concat(*parts, axis=1) if len(parts) > 1 else parts[0]
    return reduce(lambda left, right: _all_products(g, left, right), parts)


def _all_products(g: _Operations, left: Any, right: Any) -> Any:
    """Every coordinate of one kernel times every one of the other, side by side."""
    outer = g.Mul(g.Unsqueeze(left, np.array([2])), g.Unsqueeze(right, np.array([1])))
    return g.Flatten(outer, axis=1)


def _taken(g: _Operations, x: Any, columns: Any) -> Any:
    return g.Gather(x, np.array(as_list(columns), dtype=np.int64), axis=1)


def _square_norms(g: _Operations, x: Any, width: int) -> Any:
    return g.MatMul(g.Mul(x, x), np.ones((width, 1)))


def _squares(g: _Operations, x: Any, Z: np.ndarray) -> Any:
    """Squared distances by one product, about the mean of Z for accuracy."""
    centre = Z.mean(axis=0)
    about, others = g.Sub(x, centre), Z - centre
    own = _square_norms(g, about, Z.shape[1])
    twice = g.MatMul(about, 2.0 * others.T)
    return g.Max(g.Add(g.Sub(own, twice), (others**2).sum(axis=1)), 0.0)


def _city_block(g: _Operations, x: Any, Z: np.ndarray) -> Any:
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
