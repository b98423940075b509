"""The data sets of depmax as if they were files: those that come with it, and those it fetches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import polars as pl

from depmax.cli.errors import DataError, nearest
from depmax.cli.reading.source import Source
from depmax.datasets import Dataset, FetchError, available, fetch, fetchable, load


class Named(Source):
    """A set by its name, the target last."""

    prefix: ClassVar[str]
    what: ClassVar[str]

    @abstractmethod
    def names(self) -> list[str]:
        """All such sets."""

    @abstractmethod
    def get(self, name: str) -> Dataset:
        """One of them."""

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns, the target last."""
        return dict(self._frame.schema)

    def _read(self, columns: list[str]) -> pl.DataFrame:
        return self._frame.select(columns)

    @cached_property
    def _frame(self) -> pl.DataFrame:
        frame: pl.DataFrame = self._set.to_frame("polars")
        return frame

    def default_targets(self) -> tuple[str, ...]:
        """The target of the set."""
        target = self._set.target_name
        return (target,) if isinstance(target, str) else target

    @cached_property
    def _set(self) -> Dataset:
        name, known = str(self.path).removeprefix(self.prefix), self.names()
        if name not in known:
            raise DataError(f"No data set named {name!r} {self.what}.{nearest(name, known)}")
        try:
            return self.get(name)
        except FetchError as error:
            raise DataError(str(error)) from None


class Bundled(Named):
    """``bundled:sonar`` instead of a file."""

    prefix = "bundled:"
    what = "is bundled"

    def names(self) -> list[str]:
        """Sets inside the package."""
        return available()

    def get(self, name: str) -> Dataset:
        """One of them."""
        return load(name)


class OpenML(Named):
    """``openml:adult`` instead of a file, fetched when first used."""

    prefix = "openml:"
    what = "can be fetched"

    def names(self) -> list[str]:
        """Sets that are known there."""
        return fetchable()

    def get(self, name: str) -> Dataset:
        """One of them, from the network or the cache."""
        return fetch(name)
