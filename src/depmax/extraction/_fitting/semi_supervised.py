"""Extractors by HSIC that also learn from unlabelled rows."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

from depmax._inputs import Target, read_target
from depmax._inputs.target import marks_unlabeled
from depmax.extraction._fitting.criterion import Criterion, hsic_criterion, smooth_criterion
from depmax.extraction.extractor import DependenceExtractor
from depmax.pencils.graphs import as_graph
from depmax.samples import Labels, Sample, read_labels


class SemiSupervisedExtractor(DependenceExtractor):
    """Base of HBFE and HSCA: unlabelled rows, and the criterion with a graph of all rows.

    With ``beta`` = 0 unlabelled rows are left out, with a warning; otherwise features that change
    much between neighbours, labelled or not, are penalised.
    """

    unbiased: bool
    beta: Any
    graph: Any
    unlabeled: Literal["auto"] | None

    def _read_labels(self, y: Any) -> Labels | None:
        labels = read_labels(y, self.target_kernel, minus_one=self._minus_one())
        self.n_unlabeled_ = labels.n_unlabeled
        return labels

    def _read_answers(self, y: Any) -> Target:
        return read_target(y, semi=True, minus_one=self._minus_one())

    def _minus_one(self) -> bool:
        """Whether -1 among classes marks an unlabelled row."""
        return marks_unlabeled(self.unlabeled, self.beta)

    def _uses_unlabeled(self) -> bool:
        return bool(self.beta > 0)

    def _prepare(self, side: Sample, labels: Labels | None) -> Criterion:
        assert labels is not None
        if self.beta == 0:
            return hsic_criterion(labels.side, unbiased=self.unbiased)
        return smooth_criterion(
            side,
            labels,
            unbiased=self.unbiased,
            beta=float(self.beta),
            graph=as_graph(self.graph),
        )

    def _check_parameters(self) -> None:
        beta = self.beta
        if isinstance(beta, bool) or not isinstance(beta, Real) or not 0 <= float(beta) <= 1:
            raise ValueError(
                f"beta of {type(self).__name__} must be a number from 0 (unlabelled rows are left "
                f"out) to 1 (labels are), got {beta!r}."
            )
        as_graph(self.graph)
        self._minus_one()
