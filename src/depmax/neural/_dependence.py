"""What NeuroHBFE and NeuroHSCA share: targets, unlabelled rows, and how features are kept."""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.utils import check_random_state

from depmax._inputs.parameters import number, one_of
from depmax._inputs.target import marks_unlabeled, warn_of_unlabeled
from depmax.neural._extractor import NeuralExtractor
from depmax.neural._networks import check_width, seeded
from depmax.neural._statistics import gram, hsic_with, whiten
from depmax.neural._tasks import DependenceTask, LabelledTarget, Smoothness, Split, read_labelled
from depmax.neural.solvers import as_solver
from depmax.pencils.graphs import as_graph
from depmax.samples import require_equal_length, require_samples

#: Rows over which a dependence is averaged.
BLOCK = 1000
FEATURE_KERNELS = ("gaussian", "linear")


class DependenceNetwork(NeuralExtractor):
    """Base of extractors whose networks are trained for dependence."""

    target_kernel: Any
    feature_kernel: Any
    unbiased: Any
    beta: Any
    graph: Any
    unlabeled: Any
    solver: Any
    random_state: Any
    verbose: Any
    alpha: Any = 0.05

    _declared: ClassVar = {
        "feature_kernel": one_of(*FEATURE_KERNELS),
        "beta": number(0, 1, ends="[)"),
    }

    def fit(self, X: Any, y: Any = None) -> Any:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : target of any type
            Rows may be unlabelled: NaN or None, with ``beta`` > 0 also -1 among classes. With
            ``beta`` = 0 they are left out, with a warning.

        Returns
        -------
        self
        """
        self._check_parameters()
        minus_one = marks_unlabeled(self.unlabeled, self.beta)
        target = read_labelled(y, self.target_kernel, minus_one=minus_one)
        inputs = self._read(X)
        require_equal_length(len(inputs), target.n_samples)
        require_samples(len(target.rows), self.unbiased)
        self.target_kernel_, self.n_unlabeled_ = target.kernel, target.n_unlabeled
        if self.beta == 0:
            warn_of_unlabeled(self.n_unlabeled_, len(inputs), type(self).__name__, 2)
        smoothness = None
        if self.beta > 0:
            smoothness = Smoothness.of(inputs, as_graph(self.graph))
        rng = check_random_state(self.random_state)
        self.n_iter_ = 0
        self.validation_scores_: list[float | None] = []
        with seeded(rng):
            self._train(inputs, target, smoothness, rng)
        return self

    def __sklearn_tags__(self) -> Any:
        """A target is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        return tags

    def _train(
        self,
        inputs: np.ndarray,
        target: LabelledTarget,
        smoothness: Smoothness | None,
        rng: np.random.RandomState,
    ) -> None:
        raise NotImplementedError

    def _train_one(
        self,
        module: Any,
        inputs: np.ndarray,
        target: LabelledTarget,
        split: Split,
        smoothness: Smoothness | None,
        rng: np.random.RandomState,
        earlier: np.ndarray | None = None,
    ) -> Any:
        """Train one network; the network."""
        solver = as_solver(self.solver, len(target.rows), type(self).__name__)
        module = module.to(device=self.device_, dtype=solver.dtype).train()

        def tensor(values: np.ndarray) -> Any:
            return torch.as_tensor(values, dtype=solver.dtype, device=self.device_)

        task = DependenceTask(
            module,
            tensor(inputs),
            target.rows,
            tensor(target.factor),
            split,
            self.feature_kernel,
            bool(self.unbiased),
            float(self.weight_decay),
            rng,
            None if earlier is None else tensor(earlier),
            float(self.alpha),
            float(self.beta),
            smoothness,
        )
        with torch.no_grad():
            outputs = module(task.inputs[:2])
        check_width(outputs, self._width, 2)
        training = solver.train(task, rng, int(self.verbose))
        self.n_iter_ += training.n_iter
        self.validation_scores_.append(training.best_score)
        self._report(training)
        return module

    def _dependences(self, features: np.ndarray, target: LabelledTarget) -> np.ndarray:
        """HSIC of each feature with the target, averaged over blocks of rows."""
        rows = target.rows
        order = np.random.default_rng(0).permutation(len(rows))
        blocks = np.array_split(order, max(1, len(rows) // BLOCK))
        values = np.zeros(features.shape[1])
        for block in blocks:
            factor = torch.as_tensor(target.factor[block])
            for column in range(features.shape[1]):
                feature = whiten(torch.as_tensor(features[rows[block], column : column + 1]))
                K = gram(feature, self.feature_kernel)
                value = hsic_with(K, factor, unbiased=bool(self.unbiased))
                values[column] += float(value) / len(blocks)
        return values

    #: Outputs of a network.
    _width: int

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        as_graph(self.graph)
        as_solver(self.solver, 0, name)
        self._refuse_without_effect(name)

    def _refuse_without_effect(self, name: str) -> None:
        """Refuse options that would change nothing beside the others."""
        defaults = signature(type(self)).parameters
        if self.module is not None:
            for option in ("hidden_layers", "activation"):
                if getattr(self, option) != defaults[option].default:
                    raise ValueError(
                        f"{option}={getattr(self, option)!r} of {name} has no effect with module=, "
                        "which is the whole network: leave one of them out."
                    )
        elif len(self.hidden_layers) == 0 and self.activation != "linear":
            raise ValueError(
                f"activation={self.activation!r} of {name} has no effect without hidden_layers: "
                "pass activation='linear', or give hidden_layers."
            )
        if self.beta == 0 and self.graph != defaults["graph"].default:
            raise ValueError(
                f"graph={self.graph!r} of {name} has no effect with beta=0: give beta > 0, or "
                "leave it out."
            )
