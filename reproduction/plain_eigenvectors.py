"""HBFE as the thesis has it: the eigenvectors of A = ΦᵀMΦ, whatever the signs of eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass

from depmax.algebra.directions import most_dependent
from depmax.algebra.space import Space
from depmax.data.sample import Sample
from depmax.extraction import HBFE
from depmax.extraction._fitting.semi_supervised import criterion_of
from depmax.extraction.extractor import Answer, Found, along


@dataclass(eq=False, repr=False)
class PlainEigenvectors(HBFE):
    """HBFE whose directions of eigenvalue zero, then of negative eigenvalue, follow the others.

    For linear kernels, maps, and others with coordinates. The published penalty of the graph only.

    Parameters
    ----------
    n_components, kernel, target_kernel, unbiased, beta, graph, relative, unlabeled
        See :class:`depmax.HBFE`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> model = PlainEigenvectors(3).fit(X, X[:, 0] > 0)
    >>> (model.dependence_ > 0).tolist()
    [True, False, False]
    """

    def _find(self, data: Sample, answer: Answer | None, count: int) -> Found:
        assert answer is not None
        if data.n_coordinates is None or self.graph_penalty != "published":
            raise ValueError(
                "PlainEigenvectors needs a kernel with coordinates, such as 'linear' or a map, and "
                "graph_penalty='published'."
            )
        criterion = criterion_of(self, data, answer)
        space = Space.of_sample(data)
        with space.solving():
            found = most_dependent(space.moments(criterion.form), count, by_variance=False)
            return along(self, space, criterion.judged(space, found))
