"""The law of permutations for tables that are read a chunk at a time, and some of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from depmax._extras import make_frame
from depmax.data.sample import (
    Sample,
    read_target_sample,
    require_samples,
    sample_of_table,
    table_of_stream,
)
from depmax.dependence._nulls.counted import CountedScreening, CountedTarget
from depmax.dependence._nulls.law import (
    SKEWNESS_ROWS,
    is_out_of_range,
    permutation_law,
    spread,
    spread_of_levels,
)
from depmax.dependence._terms import terms
from depmax.dependence.independence_test import IndependenceTest
from depmax.dependence.resolve import read_pair
from depmax.kernels import as_kernel

#: Rows that permutations are made of, drawn with a fixed seed where there are more.
SAMPLED_ROWS = {"aggregate": 4_000, "permutation": 20_000}


def law_of_stream(inputs: Any, target: Any, kernel: Any, target_kernel: Any) -> Any:
    """The test of all rows by the law of permutations; None if that is not reliable."""
    if inputs.shape[1] == 1:
        return _of_column(inputs, target, kernel, target_kernel)
    x, y = read_pair(inputs, target, kernel, target_kernel)
    m = x.n_samples
    require_samples(m, unbiased=True)
    own_x = m * (m - 3) * terms(x, x, unbiased=True).hsic()
    distinct, of_y = y.rows.distinct, None
    if distinct is not None and distinct[1] is not None and len(distinct[0]) <= SKEWNESS_ROWS < m:
        values, counts = distinct  # of the target, where these are few
        of_y = spread_of_levels(Sample(y.kernel, values).near_origin().gram(), counts)
    else:
        of_y = spread(y, m * (m - 3) * terms(y, y, unbiased=True).hsic())
    law = permutation_law(spread(x, own_x), of_y, n_samples=m)
    if is_out_of_range(law, (None, None), m):
        return None
    statistic = terms(x, y, unbiased=True).hsic()
    return IndependenceTest(statistic, law.sf(statistic), "gamma", m)


def _of_column(inputs: Any, target: Any, kernel: Any, target_kernel: Any) -> IndependenceTest:
    """One column, by its counted values: any kernel."""
    side = read_target_sample(target, target_kernel)
    require_samples(side.n_samples, unbiased=True)
    recipe = as_kernel(kernel)
    resolved = sample_of_table(table_of_stream(inputs, recipe), recipe, scale_free=True).kernel
    found = CountedScreening(inputs, CountedTarget.of(side, 1e-12)).score(resolved, 0)
    return IndependenceTest(found.hsic, found.pvalue, found.method, side.n_samples)


def some_rows(inputs: Any, method: str) -> tuple[Any, Any]:
    """Rows of X and y in memory, as many as a method permutes."""
    x, y = inputs.some(SAMPLED_ROWS[method])
    decoder = inputs.stream.decoder
    if decoder.categories:
        levels = {place: np.array(found) for place, found in decoder.categories.items()}
        columns = enumerate(x.T)
        x = make_frame(
            {
                name: levels[place][codes.astype(int)] if place in levels else codes
                for name, (place, codes) in zip(decoder.names, columns, strict=True)
            }
        )
    return x, y
