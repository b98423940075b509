"""Fitted models as ONNX graphs, which many programs and devices run without Python.

A fitted model of depmax does little with new rows: it takes columns, or kernel values with some
rows, or a map, and then one matrix product. Each of these is a function here or in ``kernels``,
found by the type of the part, and skl2onnx combines them with the scikit-learn steps around them.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from depmax import _version
from depmax._extras import require
from depmax._files import expand_home, replacing
from depmax.algebra.space import FeatureProjection, SampleProjection
from depmax.evaluation import Prepare
from depmax.extraction import DependenceExtractor, LinearRegressionFeature
from depmax.extraction._fitting.prediction import FeaturePredictor, Readout
from depmax.maps import (
    BasisSelection,
    IncompleteCholesky,
    KernelMap,
    NystroemMap,
    RandomFourier,
)
from depmax.onnx.kernels import Operations, against, features
from depmax.selection import DependenceSelector

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["to_onnx"]

#: Name of the only input of a graph.
INPUT = "X"
#: Option of skl2onnx: whether an estimator that ends a pipeline also gives what it predicts.
PREDICTS = "predicts"


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    target_opset: int | None = None,
) -> ModelProto:
    """ONNX graph that computes the same as ``model.transform``, or as ``predict`` of a pipeline.

    Selectors, extractors and maps of depmax, alone or in pipelines with what skl2onnx converts:
    scalers, imputers, and a classifier or regressor at the end. Kernels may be linear, polynomial,
    Gaussian, Laplace, inverse (multi)quadric, distance and ridge kernels, sums, products and
    multiples of them, kernels per column, and maps. Others raise an error that names them: kernels
    of strings, graphs and categories, your own functions, and ``depmax.neural``.

    Parameters
    ----------
    model : estimator
        Fitted on a table of numbers.
    path : path, optional
        Also write the graph to this file.
    dtype : {"float64", "float32"}, default="float64"
        Type of the input ``X`` and of the computation. In double precision features agree with
        ``transform`` to about ten digits, in single precision to about three (two with
        ``RidgeKernel``).
    target_opset : int, optional
        Version of the operators, for older runtimes; by default the newest that skl2onnx knows.

    Returns
    -------
    onnx.ModelProto
        With one input ``X`` of shape (n_samples, n_features). The names of columns and features
        are in its ``metadata_props``, as JSON. Of extractors that predict, alone or at the end of a
        pipeline, the outputs are ``features``, then ``prediction`` (one column per number), or
        ``label`` and, with ``predict_proba``, ``probabilities``.

    See Also
    --------
    save_model : Save any model to a file for Python.

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
    with warnings.catch_warnings():  # skl2onnx asks support vector machines for old attributes
        warnings.filterwarnings("ignore", "Attribute `prob[AB]_`", FutureWarning)
        graph = convert_sklearn(
            model,
            name=type(model).__name__,
            initial_types=[(INPUT, tensor([None, int(model.n_features_in_)]))],
            target_opset=target_opset,
            options=_options(model),
        )
    for key, value in _notes(model).items():
        entry = graph.metadata_props.add()
        entry.key, entry.value = key, json.dumps(value)
    if path is not None:
        with replacing(expand_home(path)) as temporary:
            temporary.write_bytes(graph.SerializeToString())
    return graph


def _options(model: Any) -> dict[Any, Any]:
    """Predictions of our own estimator at the end; probabilities as a table of any other there."""
    last = model
    while isinstance(last, Pipeline):
        last = last[-1]
    if isinstance(last, FeaturePredictor | LinearRegressionFeature):
        return {id(last): {PREDICTS: True}}
    return {"zipmap": False} if hasattr(last, "predict_proba") else {}


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
                kind,
                f"Depmax{kind.__name__}",
                _shape,
                _convert,
                parser=_parse,
                options={PREDICTS: [True, False], "zipmap": [False]},
            )
        elif kind.__module__.startswith("depmax.") and hasattr(part, "fit"):
            steps = [step for _, step in getattr(model, "steps", ())]
            place = next((at for at, step in enumerate(steps) if step is part), -1)
            others = f"before it: depmax.to_onnx(model[:{place}])"
            if place == 0:
                others = "after it, depmax.to_onnx(model[1:]), and give them what it makes"
            raise TypeError(
                f"{kind.__name__} cannot be written as an ONNX graph."
                + (f" Export the steps {others}." if place >= 0 else "")
            )


def _parts(model: Any) -> Iterator[Any]:
    """The model and the estimators among its parameters."""
    yield model
    for value in model.get_params(deep=True).values():
        if isinstance(value, BaseEstimator):
            yield value


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """The features, and of the last step what it predicts."""
    operator = scope.declare_local_operator(f"Depmax{type(model).__name__}", model)
    operator.inputs = inputs
    numbers = type(inputs[0].type)
    width = len(model.get_feature_names_out())
    outputs = [scope.declare_local_variable("features", numbers([None, width]))]
    if scope.get_options(model, {PREDICTS: False}).get(PREDICTS):
        readout = model._readout
        if readout.classes is None:
            predicted = numbers([None, readout.loadings.shape[1]])
            outputs.append(scope.declare_local_variable("prediction", predicted))
        else:
            labels = _labels_of(readout, numbers)[1]([None])
            outputs.append(scope.declare_local_variable("label", labels))
        if hasattr(model, "predict_proba"):
            shares = numbers([None, len(readout.classes)])
            outputs.append(scope.declare_local_variable("probabilities", shares))
    for output in outputs:
        operator.outputs.append(output)
    return outputs


def _labels_of(readout: Readout, numbers: Any = None) -> tuple[np.ndarray, Any]:
    """Classes as a tensor of an ONNX graph, and its type: ``numbers`` where they have fractions."""
    from skl2onnx.common import data_types

    classes = np.asarray(np.asarray(readout.classes).tolist())  # objects as what they are
    kinds: dict[str, tuple[Any, Any]] = {
        "b": (np.bool_, data_types.BooleanTensorType),
        "i": (np.int64, data_types.Int64TensorType),
        "u": (np.int64, data_types.Int64TensorType),
        "f": (np.float64, numbers),
    }
    dtype, kind = kinds.get(classes.dtype.kind, (np.str_, data_types.StringTensorType))
    return classes.astype(dtype), kind


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
    g = Operations(x, container.target_opset)
    nodes = [convert(model, g, x)]
    if len(operator.outputs) > 1:
        nodes += _predictions(model, g, nodes[0])
    for node, output in zip(nodes, operator.outputs, strict=True):
        g.Identity(node, output_names=[output]).add_to(scope, container)


def _predictions(
    model: FeaturePredictor | LinearRegressionFeature, g: Operations, features: Any
) -> list[Any]:
    """Nodes of a predictor's answers from features, and of the probabilities of classes."""
    readout = model._readout
    values = g.Add(g.MatMul(features, readout.loadings), readout.intercept)
    if readout.classes is None:
        if readout.threshold is None:
            return [values]
        threshold = np.full(1, readout.threshold)
        return [g.Where(g.Greater(values, threshold), np.ones(1), np.zeros(1))]
    nearness = values
    if readout.centres is not None:
        halves = np.square(readout.centres).sum(axis=1) / 2
        nearness = g.Sub(g.MatMul(values, readout.centres.T), halves)
    elif readout.loadings.shape[1] == 1:
        nearness = g.MatMul(values, np.array([[0.0, 1.0]]))
    chosen = g.ArgMax(nearness, axis=1, keepdims=0)
    nodes = [g.Gather(_labels_of(readout)[0], chosen, axis=0)]
    if hasattr(model, "predict_proba"):
        nodes.append(g.Softmax(g.Div(nearness, np.full(1, readout.variance)), axis=1))
    return nodes


# --- estimators: g has the operators, x is the node of the rows -----------------------------------
@singledispatch
def convert(model: Any, g: Operations, x: Any) -> Any:
    """Node of the features of rows."""
    raise TypeError(f"{type(model).__name__} cannot be written as an ONNX graph.")


@convert.register
def _(model: DependenceSelector, g: Operations, x: Any) -> Any:
    kept = np.flatnonzero(model.get_support())
    if not kept.size:
        raise ValueError(f"{type(model).__name__} keeps no column: there is nothing to export.")
    return g.Gather(x, kept.astype(np.int64), axis=1)


@convert.register
def _(model: DependenceExtractor, g: Operations, x: Any) -> Any:
    return convert(model._projection, g, x)


@convert.register
def _(model: FeatureProjection, g: Operations, x: Any) -> Any:
    phi = features(model.kernel, g, x)
    if model.centre is not None:
        phi = g.Sub(phi, model.centre)
    return g.Sub(g.MatMul(phi, model.weights), model.shift)


@convert.register
def _(model: SampleProjection, g: Operations, x: Any) -> Any:
    return g.Sub(g.MatMul(against(model.reference, g, x), model.weights), model.offset)


@convert.register
def _(model: NystroemMap, g: Operations, x: Any) -> Any:
    return g.MatMul(against(model._reference, g, x), model._projection)


@convert.register
def _(model: KernelMap, g: Operations, x: Any) -> Any:
    if model._reference is None:
        return g.MatMul(features(model.kernel_, g, x), model._projection)
    return g.MatMul(against(model._reference, g, x), model._projection)


@convert.register
def _(model: IncompleteCholesky | BasisSelection, g: Operations, x: Any) -> Any:
    inverse = linalg.solve_triangular(model._triangle, np.eye(len(model._triangle)), lower=True)
    return g.MatMul(against(model._reference, g, x), inverse.T)


@convert.register
def _(model: RandomFourier, g: Operations, x: Any) -> Any:
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
def _(model: Prepare, g: Operations, x: Any) -> Any:
    return g.Div(g.Sub(g.Where(g.IsNaN(x), model.fills_, x), model.mean_), model.scale_)


def sub_estimator(model: Any, g: Operations, x: Any) -> Any:
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
