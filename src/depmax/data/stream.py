"""A scanned table with what a first look at it tells: rows of X and y that are read when needed.

``surveyed_pair`` turns a scan or Dask collections into ``StreamedInputs`` and a ``StreamedY``,
which the readers of X and y take like anything else. The sample that comes out of them has rows
that are read block by block, X and y of a block together; nothing as long as the table is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from depmax.data.pieces import (
    Block,
    Chunk,
    Gather,
    Gathered,
    Pieces,
    add_up,
    arrow_doubles,
)
from depmax.data.scan import Scan, scan
from depmax.data.survey import Decoder, Survey, SurveyWork, categories_of, columns_of

#: Rows of the sample from which bandwidths are read, the same that kernels draw from an array.
SAMPLE_ROWS = 1000


class SampledRowsWarning(UserWarning):
    """A search that needs rows in memory took some of those of a larger table, with a fixed seed.

    Silence it with ``warnings.simplefilter("ignore", depmax.SampledRowsWarning)``.
    """


class Stream:
    """A surveyed table: how many rows it has, how they are read, and visits to them.

    Parameters
    ----------
    pieces : Pieces
    decoder : Decoder
    survey : Survey
    """

    def __init__(self, pieces: Pieces, decoder: Decoder, survey: Survey) -> None:
        self.pieces, self.decoder, self.survey = pieces, decoder, survey
        counts = [survey.lengths[number] for number in sorted(survey.lengths)]
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.n_rows = int(self.starts[-1])
        self._kept: Gathered | None = None

    def total(
        self,
        work: Callable[[Iterator[Block]], Any],
        *,
        inputs: bool = True,
        only: frozenset[int] | None = None,
    ) -> Any:
        """Sum of what ``work`` makes of the blocks of every piece; without ``inputs`` y alone."""
        decode = _Decode(work, self.decoder, self.starts, inputs)
        return self.pieces.total(decode, columns=None if inputs else (), only=only)

    def take(self, indices: np.ndarray, *, inputs: bool = True) -> Block:
        """The rows at some positions, in that order, in memory; without ``inputs`` y alone."""
        indices = np.asarray(indices, dtype=np.int64)
        found = self._kept
        missing = np.unique(indices if found is None else np.setdiff1d(indices, found.positions))
        if len(missing):
            found = add_up([found, self._gathered(missing, inputs=inputs)])
        assert found is not None  # unless no row was asked for
        return found.block(indices, inputs=inputs)

    def keep(self, indices: np.ndarray) -> None:
        """Read the rows at some positions once, for later calls of ``take``."""
        missing = np.unique(np.asarray(indices, dtype=np.int64))
        self._kept = add_up([self._kept, self._gathered(missing)])

    def _gathered(self, indices: np.ndarray, *, inputs: bool = True) -> Gathered | None:
        """The rows at some positions, sorted, from a visit to the pieces that have them."""
        numbers = np.searchsorted(self.starts, indices, side="right") - 1
        ends = frozenset(indices[np.flatnonzero(np.diff(numbers, append=-1))].tolist())
        found: Gathered | None = self.total(
            Gather(indices, ends), inputs=inputs, only=frozenset(numbers.tolist())
        )
        return found

    @cached_property
    def sample_indices(self) -> np.ndarray:
        """Positions of the rows from which numbers of kernels are read."""
        return _sample_positions(self.n_rows)


def _sample_positions(n_rows: int) -> np.ndarray:
    if n_rows <= SAMPLE_ROWS:
        return np.arange(n_rows)
    return np.random.default_rng(0).choice(n_rows, SAMPLE_ROWS, replace=False)


def sample_rows(rows: Any) -> Any:
    """All rows, or 1000 drawn with a fixed seed, of an array or a stream."""
    return rows.sample() if hasattr(rows, "stream") else rows[_sample_positions(len(rows))]


@dataclass(frozen=True)
class _Decode:
    """Blocks of a piece for some work on blocks."""

    work: Callable[[Iterator[Block]], Any]
    decoder: Decoder
    starts: np.ndarray
    inputs: bool

    def __call__(self, number: int, chunks: Iterator[Chunk]) -> Any:
        return self.work(self._blocks(number, chunks))

    def _blocks(self, number: int, chunks: Iterator[Chunk]) -> Iterator[Block]:
        if number + 1 >= len(self.starts):
            raise RuntimeError(_CHANGED)
        start, end = int(self.starts[number]), int(self.starts[number + 1])
        for chunk in chunks:
            block = self.decoder.block(chunk, start, inputs=self.inputs)
            start += block.n_rows
            if start > end:
                raise RuntimeError(_CHANGED)
            if block.n_rows:
                yield block
        if start != end:
            raise RuntimeError(_CHANGED)


_CHANGED = (
    "The table has changed while it was read: a part of it has a different number of rows than "
    "before. Make sure that nothing writes to it, and fit again."
)


# --- rows -----------------------------------------------------------------------------------------
class View(Protocol):
    """What is looked at in a block."""

    #: Whether X must be read for it.
    of_inputs: ClassVar[bool]

    def __call__(self, block: Block) -> Any:
        """An array or a CSR matrix with a row per row of the block."""


@dataclass(frozen=True)
class InputsView:
    """The inputs of a block, or some of their columns."""

    columns: tuple[int, ...] | None = None
    of_inputs: ClassVar[bool] = True

    def __call__(self, block: Block) -> Any:
        """Of shape (n, d)."""
        return block.x if self.columns is None else block.x[:, list(self.columns)]


@dataclass(frozen=True)
class TargetView:
    """The target of a block as it is stored, or a function of it."""

    change: Callable[[np.ndarray], np.ndarray] | None = None
    of_inputs: ClassVar[bool] = False

    def __call__(self, block: Block) -> np.ndarray:
        """Of shape (n,) or (n, q)."""
        y: np.ndarray = block.y
        return y if self.change is None else self.change(y)


@dataclass(frozen=True, eq=False)
class StreamRows:
    """Rows of a stream as a kernel reads them: those of X, or a view of y.

    Indexed by a ``Block`` it gives the rows of that block; by positions, rows in memory.
    """

    stream: Stream
    view: View
    #: A row like the others, for whoever asks for widths and types only.
    example: Any
    #: Different values and how often each occurs, where that is known.
    distinct: tuple[np.ndarray, np.ndarray | None] | None = field(default=None)
    #: Mean and scatter about it, where they are known.
    moments: tuple[np.ndarray, np.ndarray] | None = field(default=None)
    is_streamed = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        return (self.stream.n_rows, *self.example.shape[1:])

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return int(self.example.ndim)

    @property
    def dtype(self) -> np.dtype:
        """Precision of the rows."""
        return np.dtype(self.example.dtype)

    @property
    def of_inputs(self) -> bool:
        """Whether X is read for these rows."""
        return self.view.of_inputs

    def __getitem__(self, rows: Any) -> Any:
        if hasattr(rows, "n_rows"):  # a block
            return self.view(rows)
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.stream.n_rows))
        return self.view(self.stream.take(rows, inputs=self.of_inputs))

    def sample(self) -> Any:
        """Rows from which bandwidths are read: all, or 1000 drawn with a fixed seed."""
        return self._sampled

    @cached_property
    def _sampled(self) -> Any:
        return self[self.stream.sample_indices]

    def glance(self, size: int) -> Any:
        """Rows from two places that cost little to read: beginnings of pieces."""
        n_rows, starts = self.stream.n_rows, self.stream.starts
        length = min(n_rows, size // 2)
        places = np.array([0, n_rows // 2])
        firsts = starts[np.searchsorted(starts, places, side="right") - 1]
        firsts = np.unique(np.minimum(firsts, n_rows - length))
        return self[np.unique(np.add.outer(firsts, np.arange(length)))]

    def column(self, positions: Sequence[int]) -> StreamRows:
        """Some columns of the inputs."""
        where = tuple(map(int, positions))
        distinct = None
        levels = self.stream.decoder.categories
        if len(where) == 1 and where[0] in levels:
            distinct = np.arange(len(levels[where[0]]), dtype=np.float64), None
        return StreamRows(self.stream, InputsView(where), self.example[:, list(where)], distinct)

    def resolve(self, kernel: Any, choose: Any = None) -> Any:
        """The kernel with every recipe replaced by numbers read off these rows."""
        return kernel.resolve(self)


@dataclass(frozen=True, eq=False)
class StreamedInputs:
    """X of a scanned table."""

    stream: Stream
    is_streamed = True

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.stream.n_rows, self.stream.decoder.n_columns

    @property
    def rows(self) -> StreamRows:
        """The rows as kernels read them."""
        decoder = self.stream.decoder
        example: Any = np.zeros((1, decoder.n_columns), decoder.dtype)
        if sparse.issparse(self.stream.pieces.empty.x):
            example = sparse.csr_matrix(example)
        return StreamRows(self.stream, InputsView(), example)

    def describe_to(self, estimator: Any) -> None:
        """Set what ``fit`` tells about the columns: their number, names and categories."""
        decoder = self.stream.decoder
        estimator.categories_, estimator.n_features_in_ = dict(decoder.categories), self.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if decoder.names is not None:
            estimator.feature_names_in_ = np.array(decoder.names, dtype=object)

    def some(self, size: int) -> tuple[Any, Any]:
        """X and y of at most so many rows, drawn with a fixed seed, in memory."""
        block = self.stream.take(some_rows(self.stream.n_rows, size))
        y = block.y
        if y is not None and StreamedY(self.stream).kind == "classes":
            y = y.astype(str)  # classes whatever their labels look like
        return block.x, y


@dataclass(frozen=True, eq=False)
class StreamedY:
    """y of a scanned table: ``read_target`` asks it for its type."""

    stream: Stream
    is_streamed = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and, for several outputs, columns."""
        facts = self.stream.survey.target
        assert facts is not None
        return (self.stream.n_rows,) if facts.width is None else (self.stream.n_rows, facts.width)

    @property
    def kind(self) -> str:
        """The type of the target."""
        from depmax.data.target import read_target

        return read_target(self).kind

    def as_target(self, **rules: Any) -> Any:
        """The target by the rules of ``read_target``."""
        from depmax.data.streamed_target import streamed_target

        return streamed_target(self.stream, **rules)


def some_rows(n_rows: int, size: int) -> np.ndarray:
    """Positions of all rows, or of some drawn with a fixed seed, in order.

    Examples
    --------
    >>> some_rows(1_000_000_000, 3)
    array([511136479, 636961686, 850624224])
    """
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False))


def surveyed_pair(X: Any, y: Any, *, supervised: bool) -> tuple[Any, Any]:
    """X and y of one surveyed table, from rows that are read a chunk at a time."""
    if hasattr(X, "stream"):  # surveyed already
        return X, y
    if hasattr(X, "pieces") and y is not None:
        raise TypeError(
            "X is a scan, which brings its own target: pass target= to depmax.scan instead of y."
        )
    table = X if hasattr(X, "pieces") else scan(X, y)
    if not supervised and table.has_target:
        table = Scan(table.pieces.mapped(_without_target))
    stream = surveyed(table)
    return StreamedInputs(stream), StreamedY(stream) if table.has_target else None


def refuse_with_streams(owner: str, **options: Any) -> None:
    """Refuse options that need all rows in memory, where they are given."""
    for name, value in options.items():
        if value is not None:
            raise TypeError(
                f"{owner} with {name}= needs all rows in memory, but X is read a chunk at a time: "
                f"pass X.compute() if it fits, or a random part of its rows."
            )


def _without_target(chunk: Chunk) -> Chunk:
    return Chunk(chunk.x)


def surveyed(table: Scan) -> Stream:
    """The table after a first visit to its target and its categories."""
    pieces = table.pieces
    names, width, nominal, dtype = columns_of(pieces.empty.x)
    survey = None
    if not nominal and not table.has_target and pieces.lengths is not None:
        survey = Survey(dict(enumerate(pieces.lengths)), {}, None)
    if survey is None:
        columns = None if names is None else tuple(names[position] for position in nominal)
        if names is not None and not nominal and not table.has_target:
            columns = names[:1]
        survey = pieces.total(SurveyWork(nominal, names or ()), columns=columns)
    if survey is None or sum(survey.lengths.values()) == 0:
        raise ValueError("The table is empty: found 0 sample(s), at least 1 is needed.")
    categories = categories_of(survey, names, pieces.empty.x)
    doubles = arrow_doubles(pieces.empty.x)
    decoder = Decoder(names, width, categories, dtype, drop_unlabelled=True, doubles=doubles)
    return Stream(pieces, decoder, survey)
