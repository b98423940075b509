"""Tests of independence for tables that are read a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from depmax._extras import make_frame
from depmax.algebra.row_sums import Aligned, RowSums, dense
from depmax.algebra.targets import BlockImages, SumBlocks, target_factor
from depmax.data.checks import require_samples
from depmax.data.chunks import Chunk
from depmax.data.reading import aligned, read_target_sample, sample_of_table, table_of_stream
from depmax.data.sample import Sample
from depmax.dependence._nulls.counted_screening import CountedScreening, CountedTarget
from depmax.dependence._nulls.law import (
    SKEWNESS_ROWS,
    Spread,
    permutation_law,
    spread,
    spread_of_levels,
)
from depmax.dependence._nulls.rare import is_out_of_range
from depmax.dependence._terms import streamed_sums, terms_from_sums
from depmax.dependence.independence_test import IndependenceTest
from depmax.dependence.resolve import read_pair
from depmax.kernels import as_kernel

#: Rows that permutations are made of, drawn with a fixed seed where there are more.
SAMPLED_ROWS = {"aggregate": 4_000, "permutation": 20_000}

#: The test for rows in memory.
Test = Callable[..., IndependenceTest]


def streamed_test(
    in_memory: Test,
    X: Any,
    y: Any,
    kernel: Any,
    target_kernel: Any,
    method: str,
    options: Mapping[str, Any],
) -> IndependenceTest:
    """By the law of permutations from all rows, or by permutations of some."""
    inputs, target = aligned(X, y)
    if target is None:
        raise ValueError("hsic_test requires y: pass target= to depmax.scan.")
    permute = partial(_sampled, in_memory, inputs, kernel, target_kernel, options)
    if method in SAMPLED_ROWS:
        return permute(method)
    if method != "gamma":
        raise ValueError(f"method must be 'aggregate', 'permutation' or 'gamma', got {method!r}.")
    is_auto = isinstance(kernel, str) and kernel == "auto"
    recipe = "gaussian" if is_auto else kernel
    if inputs.shape[1] == 1:
        return _of_column(inputs, target, recipe, target_kernel)
    x, y_side = read_pair(inputs, target, recipe, target_kernel)
    require_samples(x.n_samples, unbiased=True)
    m, scale = x.n_samples, x.n_samples * (x.n_samples - 3)
    own_x = _own_sums(x)
    law = permutation_law(
        spread(x, scale * _hsic(own_x)), _spread_of_target(y_side, scale), n_samples=m
    )
    if is_out_of_range(law, None, None, m):
        return permute("permutation")
    statistic = _hsic(streamed_sums(x, target_factor(y_side)))
    return IndependenceTest(statistic, law.sf(statistic), "gamma", m)


def _of_column(inputs: Any, target: Any, kernel: Any, target_kernel: Any) -> IndependenceTest:
    """One column, by its counted values: any kernel."""
    side = read_target_sample(target, target_kernel)
    require_samples(side.n_samples, unbiased=True)
    recipe = as_kernel(kernel)
    resolved = sample_of_table(table_of_stream(inputs, recipe), recipe, scale_free=True).kernel
    found = CountedScreening(inputs, CountedTarget.of(side, 1e-12)).score(resolved, 0)
    return IndependenceTest(found.hsic, found.pvalue, found.method, side.n_samples)


def _sampled(
    in_memory: Test,
    inputs: Any,
    kernel: Any,
    target_kernel: Any,
    options: Mapping[str, Any],
    method: str,
) -> IndependenceTest:
    """The test of some rows in memory, drawn with a fixed seed."""
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
    found = in_memory(x, y, kernel=kernel, target_kernel=target_kernel, method=method, **options)
    if found.n_samples == inputs.shape[0]:
        return found
    said = f"{found.method} ({found.n_samples:,} of {inputs.shape[0]:,} rows)"
    return replace(found, method=said)


def _hsic(sums: RowSums) -> float:
    return terms_from_sums(sums, unbiased=True).hsic()


def _own_sums(side: Sample) -> RowSums:
    """Sums of the coordinates of one side with themselves, in one visit."""
    images = BlockImages(side.kernel, side.rows.view)
    work = SumBlocks(images, _with_itself, norms=True)
    sums: RowSums = side.rows.stream.total(work, inputs=side.rows.of_inputs)
    return sums


def _with_itself(phi: Any, block: Chunk) -> Aligned:
    return Aligned(dense(phi), dense(phi))


def _spread_of_target(side: Sample, scale: int) -> Spread:
    """From the counted values of the target where these are few, else from some of its rows."""
    distinct = side.rows.distinct
    if distinct is not None and distinct[1] is not None:
        values, counts = distinct
        if len(values) <= SKEWNESS_ROWS < side.n_samples:
            gram = Sample(side.kernel, values).near_origin().gram()
            return spread_of_levels(gram, counts)
    return spread(side, scale * _own_of_target(side))


def _own_of_target(side: Sample) -> float:
    if side.has_features:
        return _hsic(_own_sums(side))
    psi = target_factor(side)
    work = SumBlocks(partial(_values, psi), _with_itself, norms=True)
    return _hsic(side.rows.stream.total(work, inputs=False))


def _values(psi: Any, block: Chunk) -> np.ndarray:
    values: np.ndarray = psi.beside(None, block)
    return values
