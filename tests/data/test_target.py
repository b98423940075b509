"""Which type a target has, and which of its rows are labelled."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from depmax.data import Target, read_target
from depmax.data.target import MAX_INTEGER_CLASSES, marks_unlabeled
from depmax.kernels.kernel import count_distinct

NAN = float("nan")
MONTHS = ["2020-01", "2020-02", "2020-03"]


class TestClasses:
    @pytest.mark.parametrize(
        "y",
        [
            ["yes", "no", "yes"],
            np.array(["yes", "no", "yes"]),
            np.array(["yes", "no", "yes"], dtype=object),
            pd.Series(["yes", "no", "yes"]),
            pd.Series(["yes", "no", "yes"], dtype=object),
            pd.Series(["yes", "no", "yes"], dtype="category"),
            pd.DataFrame({"y": ["yes", "no", "yes"]}),
            pl.Series(["yes", "no", "yes"]),
            pl.Series(["yes", "no", "yes"], dtype=pl.Categorical),
            pl.Series(["yes", "no", "yes"], dtype=pl.Enum(["no", "yes"])),
            pl.DataFrame({"y": ["yes", "no", "yes"]}),
        ],
    )
    def test_text_in_any_container(self, y: Any) -> None:
        target = read_target(y)
        assert target.kind == "classes"
        assert target.values.dtype.kind == "U"
        assert_array_equal(target.classes, ["no", "yes"])
        assert_array_equal(target.labels, ["yes", "no", "yes"])

    @pytest.mark.parametrize(
        "y",
        [
            [True, False, True],
            np.array([True, False, True], dtype=object),
            pd.Series([True, False, True]),
            pd.Series([True, False, True], dtype="boolean"),
            pl.Series([True, False, True]),
        ],
    )
    def test_booleans(self, y: Any) -> None:
        target = read_target(y)
        assert target.kind == "classes"
        assert target.values.dtype == bool
        assert_array_equal(target.classes, [False, True])

    @pytest.mark.parametrize("levels", [np.arange(25), np.arange(25) / 2], ids=["whole", "float"])
    def test_categories_that_are_numbers(self, levels: np.ndarray) -> None:
        """A categorical column says that its numbers are names."""
        series = pd.Series(pd.Categorical(np.repeat(levels, 2)))
        assert read_target(series).kind == "classes"
        assert read_target(series.to_frame()).kind == "classes"
        assert_array_equal(read_target(series).classes, levels)
        assert read_target(series.astype(levels.dtype)).kind == "numbers"

    def test_intervals_are_classes(self) -> None:
        """``pandas.cut`` makes categories of them."""
        target = read_target(pd.cut(pd.Series([0.0, 1.0, 2.0, 3.0]), [-1, 1, 3]).cat.as_unordered())
        assert target.kind == "classes"
        assert target.classes.tolist() == ["(-1, 1]", "(1, 3]"]

    @pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0), (0.3, 7.5), (1.0, 2.0)])
    def test_floats_with_two_values(self, values: tuple[float, float]) -> None:
        target = read_target(np.repeat(values, 3))
        assert target.kind == "classes"
        assert_array_equal(target.classes, values)

    @pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series], ids=repr)
    def test_few_integers(self, make: Any) -> None:
        y = make([3, 1, 2] * 4)
        assert read_target(y).kind == "classes"
        assert_array_equal(read_target(y).classes, [1, 2, 3])

    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8])
    def test_the_limit_for_integers_counts_distinct_values(self, dtype: type) -> None:
        few = np.repeat(np.arange(MAX_INTEGER_CLASSES), 3).astype(dtype)
        many = np.append(few, MAX_INTEGER_CLASSES).astype(dtype)
        assert MAX_INTEGER_CLASSES == 20
        assert read_target(few).kind == "classes"
        assert read_target(many).kind == "numbers"

    @given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=60))
    def test_python_and_numpy_integers_agree(self, y: list[int]) -> None:
        whole = np.array(y)
        assert read_target(y).kind == read_target(whole).kind
        assert read_target(whole.astype(object)).kind == read_target(whole).kind


class TestNumbers:
    @pytest.mark.parametrize(
        "y",
        [
            [1.5, 2.0, 3.0],
            [1.0, 2.0, 3.0],
            [1, 2.0, 3],
            np.array([1, 2.5, 3], dtype=object),
            np.array([1, 2, 3], dtype=np.float32),
            pd.Series([1.0, 2.0, 3.0]),
            pl.Series([1.0, 2.0, 3.0]),
        ],
    )
    def test_floats_with_more_than_two_values_even_when_whole(self, y: Any) -> None:
        target = read_target(y)
        assert target.kind == "numbers"
        assert target.values.shape == (3, 1)
        assert target.values.dtype == np.float64

    def test_a_single_column_is_one_dimensional(self) -> None:
        for y in (np.array([[1.0], [2.0], [3.0]]), pd.DataFrame({"y": [1.0, 2.0, 3.0]})):
            assert_array_equal(read_target(y).values, [[1.0], [2.0], [3.0]])
        assert read_target(np.array([["a"], ["b"]])).values.shape == (2,)


class TestSeveralColumns:
    @pytest.mark.parametrize(
        "y",
        [
            [[0, 1], [1, 1], [0, 0]],
            np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]),
            np.array([[False, True], [True, True], [False, False]]),
            sparse.csr_matrix([[0, 1], [1, 1], [0, 0]]),
            sparse.coo_array([[0, 1], [1, 1], [0, 0]]),
            pd.DataFrame({"a": [0, 1, 0], "b": [1, 1, 0]}),
            pl.DataFrame({"a": [0, 1, 0], "b": [True, True, False]}),
        ],
    )
    def test_zeros_and_ones_are_multi_label(self, y: Any) -> None:
        target = read_target(y)
        assert target.kind == "multilabel"
        assert_array_equal(target.values, [[0, 1], [1, 1], [0, 0]])
        assert target.values.dtype == np.float64

    @pytest.mark.parametrize("y", [[[0, 2], [1, 1]], [[-1, 1], [1, -1]], [[0.5, 1.0], [0.0, 1.0]]])
    def test_anything_else_is_multi_output(self, y: list[list[float]]) -> None:
        assert read_target(y).kind == "multioutput"
        assert_array_equal(read_target(y).vectors, y)

    def test_text_is_refused_with_the_remedy(self) -> None:
        for y in ([["a", "b"], ["c", "d"]], pd.DataFrame({"a": ["u", "v"], "b": [1, 2]})):
            with pytest.raises(TypeError, match="must be numeric: encode"):
                read_target(y)

    def test_a_kernel_of_labels_needs_one_column(self) -> None:
        with pytest.raises(ValueError, match="y has 2 columns"):
            _ = read_target([[0, 1], [1, 0]]).labels


class TestVectors:
    """How kernels of vectors see labels."""

    def test_two_text_classes_are_signs(self) -> None:
        assert_array_equal(read_target(["b", "a", "b"]).vectors, [[1], [-1], [1]])

    def test_more_text_classes_are_indicators(self) -> None:
        expected = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
        assert_array_equal(read_target(["b", "a", "c"]).vectors, expected)

    def test_numbers_stay_as_they_are(self) -> None:
        assert_array_equal(read_target([3, 1, 3]).vectors, [[3], [1], [3]])
        assert_array_equal(read_target([0.5, 1.0, 7.0]).vectors, [[0.5], [1.0], [7.0]])
        assert_array_equal(read_target([True, False]).vectors, [[1], [0]])

    def test_numbers_also_serve_as_labels(self) -> None:
        assert_array_equal(read_target([0.5, 1.0, 7.0]).labels, [0.5, 1.0, 7.0])


class TestMissingLabels:
    """With ``semi=True`` rows without a label stay, elsewhere they are refused."""

    @pytest.mark.parametrize(
        ("y", "kind", "classes"),
        [
            (["a", None, "b"], "classes", ["a", "b"]),
            (np.array(["a", NAN, "b"], dtype=object), "classes", ["a", "b"]),
            (pd.Series(["a", None, "b"]), "classes", ["a", "b"]),
            (pd.Series(["a", None, "b"], dtype="category"), "classes", ["a", "b"]),
            (pl.Series(["a", None, "b"]), "classes", ["a", "b"]),
            (pl.Series(["a", None, "b"], dtype=pl.Categorical), "classes", ["a", "b"]),
            ([True, None, False], "classes", [False, True]),
            (pd.Series([True, None, False], dtype="boolean"), "classes", [False, True]),
            (pl.Series([True, None, False]), "classes", [False, True]),
            ([0.0, NAN, 1.0], "classes", [0, 1]),
            ([3, None, 5], "classes", [3, 5]),
            (np.array([3, pd.NA, 5], dtype=object), "classes", [3, 5]),
            (pd.Series([3, None, 5], dtype="Int64"), "classes", [3, 5]),
            (pl.Series([3, None, 5]), "classes", [3, 5]),
        ],
    )
    def test_none_and_nan_are_unlabelled(self, y: Any, kind: str, classes: list[Any]) -> None:
        target = read_target(y, semi=True)
        assert target.kind == kind
        assert_array_equal(target.labelled, [True, False, True])
        assert_array_equal(target.classes, classes)
        assert (target.n_samples, target.n_unlabeled) == (3, 1)

    @pytest.mark.parametrize(
        "make",
        [
            lambda y: y,
            lambda y: pd.Series(y, dtype="Int64"),
            pl.Series,
            lambda y: np.array(y, dtype=object),
        ],
        ids=["list", "pandas", "polars", "objects"],
    )
    def test_whole_numbers_with_gaps_are_counted_like_others(self, make: Any) -> None:
        few = read_target(make([0, 1, 2, None]), semi=True)
        assert few.kind == "classes"
        assert_array_equal(few.values, [0, 1, 2, NAN])
        many = read_target(make([*range(25), None]), semi=True)
        assert many.kind == "numbers"
        assert_array_equal(many.values[:, 0], [*range(25), NAN])

    def test_numbers_and_several_columns(self) -> None:
        numbers = read_target([1.0, 2.5, NAN, 4.0], semi=True)
        assert numbers.kind == "numbers"
        assert_array_equal(numbers.labelled, [True, True, False, True])
        for y in (
            [[0, 1], [None, 1], [1, 1]],
            np.array([[0, 1], [NAN, 1], [1, 1]]),
            pd.DataFrame({"a": pd.array([0, None, 1], dtype="Int64"), "b": [1, 1, 1]}),
            pl.DataFrame({"a": [0, None, 1], "b": [1, 1, 1]}),
        ):
            several = read_target(y, semi=True)
            assert several.kind == "multilabel"
            assert_array_equal(several.labelled, [True, False, True])

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (["a", None, "b"], r"missing \(NaN or None\) in 1 of 3 rows: drop these rows, or use"),
            (pd.Series([1, None, 2], dtype="Int64"), r"missing .* in 1 of 3 rows"),
            ([1.0, NAN, NAN], r"y is missing \(NaN or None\) in 2 of 3 rows: drop these rows"),
            ([[1.0, 2.0], [1.0, NAN]], "y contains NaN in column 1"),
            (pl.Series([1.0, None]), "y is missing"),
        ],
    )
    def test_elsewhere_they_are_refused(self, y: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            read_target(y)

    @pytest.mark.parametrize("semi", [True, False])
    @pytest.mark.parametrize("y", [[1.0, np.inf], [1.0, 2.0, -np.inf], [[1.0, np.inf], [0.0, 1.0]]])
    def test_infinity_is_no_missing_label(self, y: Any, semi: bool) -> None:
        with pytest.raises(ValueError, match="y contains infinity"):
            read_target(y, semi=semi)


def read_semi(y: Any, **options: Any) -> Target:
    return read_target(y, semi=True, minus_one=True, **options)


class TestMinusOne:
    """-1 marks an unlabelled row only among classes, unless these are -1 and +1."""

    @pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series], ids=repr)
    def test_it_is_unlabelled_beside_other_classes(self, make: Any) -> None:
        target = read_semi(make([0, -1, 1, -1, 2]))
        assert_array_equal(target.labelled, [True, False, True, False, True])
        assert_array_equal(target.classes, [0, 1, 2])
        assert target.n_unlabeled == 2

    @pytest.mark.parametrize(
        "y",
        [
            [0, -1, None, 1],
            np.array(["a", -1, None, "b"], dtype=object),
            pd.Series([0.0, -1.0, NAN, 1.0]).astype("category"),
        ],
    )
    def test_it_is_unlabelled_together_with_none_and_nan(self, y: Any) -> None:
        target = read_semi(y)
        assert target.kind == "classes"
        assert_array_equal(target.labelled, [True, False, False, True])

    def test_it_does_not_count_among_the_classes(self) -> None:
        codes = np.arange(-1, MAX_INTEGER_CLASSES)
        assert read_semi(codes).kind == "classes"
        assert read_semi(codes).n_unlabeled == 1
        assert read_target(codes).kind == "numbers"

    @pytest.mark.parametrize(
        "y", [[-1.0, 0.0, 1.0], [-1.0, 0.5, NAN, 2.0], np.arange(-1, 40), [[-1, 0], [1, 1]]]
    )
    def test_among_numbers_it_is_a_number(self, y: Any) -> None:
        target = read_semi(y)
        assert target.kind in ("numbers", "multioutput")
        assert target.n_unlabeled == int(np.isnan(np.asarray(y, dtype=float)).sum())

    def test_whole_floats_may_be_classes(self) -> None:
        target = read_semi([-1.0, 0.0, NAN, 1.0, 2.0], whole_classes=True)
        assert target.kind == "classes"
        assert_array_equal(target.classes, [0, 1, 2])
        assert read_semi([-1.0, 0.5, 1.0, 2.0], whole_classes=True).n_unlabeled == 0

    @pytest.mark.parametrize("y", [[-1, 1, 1], [-1.0, 1.0], [-1, 1, None], [-1.0, NAN, 1.0]])
    def test_with_plus_one_only_it_is_a_class(self, y: list[Any]) -> None:
        target = read_semi(y)
        assert target.kind == "classes"
        assert_array_equal(target.classes, [-1, 1])
        assert target.n_unlabeled == sum(item is None or item != item for item in y)

    @pytest.mark.parametrize("options", [{"semi": True}, {}])
    def test_elsewhere_it_is_a_class(self, options: dict[str, Any]) -> None:
        target = read_target([0, -1, 1], **options)
        assert target.n_unlabeled == 0
        assert_array_equal(target.classes, [-1, 0, 1])

    def test_it_means_nothing_in_text(self) -> None:
        assert read_semi(["-1", "0", "1"]).n_unlabeled == 0

    def test_other_marks_are_refused(self) -> None:
        with pytest.raises(ValueError, match="unlabeled must be 'auto'"):
            marks_unlabeled(-1, 0.5)


class TestRefusals:
    @pytest.mark.parametrize("y", [[], np.empty((0, 3)), pd.Series([], dtype=float)])
    def test_no_rows(self, y: Any) -> None:
        with pytest.raises(ValueError, match="y is empty"):
            read_target(y)

    def test_none(self) -> None:
        with pytest.raises(ValueError, match="the target y is None"):
            read_target(None)

    @pytest.mark.parametrize("y", [3.0, np.zeros((2, 2, 2))])
    def test_other_dimensions(self, y: Any) -> None:
        with pytest.raises(ValueError, match="y must have one or two"):
            read_target(y)

    @pytest.mark.parametrize(
        "y",
        [
            np.array(MONTHS, dtype="datetime64[M]"),
            pd.Series(pd.to_datetime(MONTHS)),
            pl.Series([datetime.date(2020, month, 1) for month in (1, 2, 3)]),
            pl.DataFrame({"a": [datetime.date(2020, 1, 1)], "b": [1.0]}),
        ],
        ids=["numpy", "pandas", "polars", "frame"],
    )
    def test_dates(self, y: Any) -> None:
        with pytest.raises(TypeError, match="dates or durations: turn"):
            read_target(y)

    def test_complex_numbers(self) -> None:
        with pytest.raises(ValueError, match="y holds complex numbers"):
            read_target(np.array([1j, 2.0]))

    def test_lazy_collections(self) -> None:
        fake = type("Series", (), {"__module__": "dask.dataframe.core"})()
        with pytest.raises(TypeError, match="y is a Dask collection"):
            read_target(fake)
        with pytest.raises(TypeError, match=r"y.collect\(\)"):
            read_target(pl.LazyFrame({"y": [1.0]}))


def test_the_input_is_not_changed() -> None:
    y = np.array([0, -1, 1, 2])
    read_semi(y)
    assert_array_equal(y, [0, -1, 1, 2])


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64])
def test_integers_are_counted_without_overflow(kind: Any) -> None:
    values = np.array([-128, 127, 5, 127, -128, 0], dtype=kind)
    found = count_distinct(values)
    for one, other in zip(found, np.unique(values, return_counts=True), strict=True):
        assert_array_equal(one, other)
    assert found[0].dtype == kind


@pytest.mark.parametrize("values", [np.array([0, 10**9]), np.array([0.0, 1.0]), np.array([], int)])
def test_values_far_from_each_other_are_counted_too(values: Any) -> None:
    for one, other in zip(
        count_distinct(values), np.unique(values, return_counts=True), strict=True
    ):
        assert_array_equal(one, other)


def test_a_target_without_columns() -> None:
    with pytest.raises(ValueError, match=r"y has no columns.*\(5, 0\)"):
        read_target(np.zeros((5, 0)))
