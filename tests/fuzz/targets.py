"""What is damaged and who reads it: every reader of data files, and the loaders of models."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import tempfile
import warnings
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from pyarrow import parquet

from depmax.cli.errors import DataError
from depmax.cli.reading import open_source
from depmax.cli.reading.source import ReadOptions, kind_of
from depmax.cli.table import as_features
from depmax.data.scan import scan
from depmax.persistence.archives import seal
from tests.fuzz.mutations import (
    Mutate,
    damage_archive,
    damage_bytes,
    damage_gzip,
    damage_text,
    replace_value,
)

rng = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "id": np.arange(40),
        "size": rng.normal(size=40).round(3),
        "flag": rng.random(40) < 0.5,
        "colour": rng.choice(["red", "green", "", "very blue"], 40),
        "long": ["a text longer than twelve bytes " * (i % 3) for i in range(40)],
        "gap": [None if i % 5 == 0 else 1.5 * i for i in range(40)],
        "y": rng.choice(["a", "b"], 40),
    }
)


class Target(ABC):
    """Whole files, how they are damaged, and who reads them."""

    suffix: str
    refusals: tuple[type[BaseException], ...]

    @abstractmethod
    def whole(self) -> list[bytes]:
        """Files to begin with."""

    @abstractmethod
    def read(self, path: Path) -> None:
        """Read a file with everything that a user would."""

    def __init__(self, damage: Mutate) -> None:
        self._whole = self.whole()
        self._damage = damage

    def content(self, rng: random.Random) -> bytes:
        """A damaged file."""
        return self._damage(rng.choice(self._whole), rng)


class Data(Target):
    """A table: read whole and in batches, which must agree, then used and written."""

    refusals = (DataError,)

    def __init__(self, suffix: str, make: Callable[[], list[bytes]], damage: Mutate) -> None:
        self.suffix = suffix
        self.whole = make
        super().__init__(damage)

    def whole(self) -> list[bytes]:
        """As it was made."""
        raise NotImplementedError

    def read(self, path: Path) -> None:
        """Both ways, then what the commands do with a table."""
        source = open_source(str(path), ReadOptions(max_memory=1 << 28))
        columns = [name for name, dtype in source.schema().items() if kind_of(dtype) != "other"]
        if not columns:
            return
        frame = source.read(columns)
        batches = list(source.batches(columns, 16))
        assert sum(batch.height for batch in batches) == frame.height
        if frame.height:
            together = pl.concat(batches)
            assert together.schema == frame.schema
            assert together.equals(frame)
            plain = [name for name in columns if frame[name].dtype != pl.Duration]
            assert together.select(plain).write_csv() == frame.select(plain).write_csv()
            as_features(frame).select(pl.col(pl.Categorical).to_physical())


class Folder(Data):
    """A folder of files, of which one is damaged: a table that is read a part at a time."""

    def read(self, path: Path) -> None:
        """As a table of the command line, which is a scan, and as the rows of a fit."""
        with tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
            os.link(path, Path(folder) / path.name)
            super().read(Path(folder))
            try:
                for chunk in scan(folder, target="y", columns=["size", "gap"]).chunks():
                    chunk.column("gap").to_numpy()
            except (RuntimeError, TypeError, ValueError) as error:
                raise DataError(str(error)) from None


def _delimited() -> list[bytes]:
    text = FRAME.write_csv()
    german = FRAME.select("size", "gap", "y").write_csv(separator=";", decimal_comma=True)
    spaced = FRAME.select("id", "size").write_csv(separator=" ")
    dated = "day,x\n" + "".join(f"2024-01-{i + 1:02},{i}\n" for i in range(20))
    quoted = 'name,x\n"a ""b"", c",1\n"two\nlines",2\n' + "plain,3\n" * 8
    texts = (text, german, spaced, dated, quoted, text.replace("\n", "\r\n"))
    return [*(one.encode() for one in texts), text.encode("utf-16"), german.encode("cp1252")]


def _parquet() -> list[bytes]:
    files = []
    table = FRAME.to_arrow()
    cast = table.cast(
        pa.schema(
            [f.with_type(pa.string()) if "string" in str(f.type) else f for f in table.schema]
        )
    )
    for options in (
        {"compression": "snappy"},
        {"compression": "none"},
        {"compression": "zstd", "row_group_size": 15},
        {"compression": "gzip", "use_dictionary": False, "data_page_version": "2.0"},
        {"compression": "none", "store_schema": False, "write_statistics": False},
    ):
        buffer = io.BytesIO()
        parquet.write_table(cast, buffer, **options)
        files.append(buffer.getvalue())
    buffer = io.BytesIO()
    FRAME.with_columns(pl.col("colour").cast(pl.Categorical)).write_parquet(buffer)
    return [*files, buffer.getvalue()]


def _arrow() -> list[bytes]:
    files = []
    nested = FRAME.with_columns(parts=pl.lit([1, 2]), pair=pl.struct("id", "size"))
    for frame in (FRAME, FRAME.with_columns(pl.col("colour").cast(pl.Categorical)), nested):
        for compression in ("uncompressed", "zstd", "lz4"):
            buffer = io.BytesIO()
            frame.write_ipc(buffer, compression=compression)
            files.append(buffer.getvalue())
    for opened in (pa.ipc.new_file, pa.ipc.new_stream):
        for compression in (None, "zstd", "lz4"):
            sink = io.BytesIO()
            options = pa.ipc.IpcWriteOptions(compression=compression)
            table = FRAME.with_columns(pl.col("y").cast(pl.Categorical)).to_arrow()
            with opened(sink, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=15)
            files.append(sink.getvalue())
    return files


def _xlsx() -> list[bytes]:
    from openpyxl import Workbook

    files = []
    for frame in (FRAME, FRAME.select("size", "y")):
        workbook = Workbook()
        workbook.create_sheet("other").append(["nothing"])
        for row in ([*frame.columns], *map(list, frame.rows())):
            workbook.worksheets[0].append(row)
        buffer = io.BytesIO()
        workbook.save(buffer)
        files.append(buffer.getvalue())
    return files


def _gzip() -> list[bytes]:
    return [gzip.compress(one, 1, mtime=0) for one in _delimited()]


class Model(Target):
    """A model: loaded by ``load_model``, then used."""

    suffix = ".skops"

    def __init__(self) -> None:
        from depmax.persistence import ModelFileError

        self.refusals = (ModelFileError,)
        super().__init__(damage_sealed)

    def whole(self) -> list[bytes]:
        """A selector, a kernel extractor, a map and a pipeline."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        from depmax import BAHSIC, HSCA, save_model
        from depmax.kernels import Gaussian
        from depmax.maps import NystroemMap

        models = (
            BAHSIC(2).fit(_X, _Y),
            HSCA(2, kernel=Gaussian(1.0)).fit(_X, _Y),
            NystroemMap(5, random_state=0).fit(_X),
            make_pipeline(StandardScaler(), BAHSIC(2)).fit(_X, _Y),
        )
        return [_saved(partial(save_model, model), self.suffix) for model in models]

    def read(self, path: Path) -> None:
        """What comes back is used; that a crafted model cannot be is its own error."""
        from depmax.persistence import load_model

        with warnings.catch_warnings():
            # a damaged model may warn; only what it does counts
            warnings.simplefilter("ignore")
            model = load_model(path, any_version=True)
            with contextlib.suppress(Exception):
                model.transform(_X)


class Attributes(Model):
    """A model in which values are replaced by others of any type, shape and range."""

    def __init__(self) -> None:
        super().__init__()
        self._damage = damage_attributes

    def whole(self) -> list[bytes]:
        """One model for every class that a file may hold and whose code might trust its values."""
        from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
        from sklearn.linear_model import LogisticRegression, RidgeClassifier
        from sklearn.manifold import LocallyLinearEmbedding
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import (
            OneHotEncoder,
            OrdinalEncoder,
            QuantileTransformer,
            StandardScaler,
        )
        from sklearn.svm import SVC, SVR

        import depmax
        from depmax import save_model
        from depmax.evaluation import MLkNN

        levels = np.array([["a", "b", "c", "d"][i % 4] for i in range(20)], dtype=object)[:, None]
        some = levels == "a"
        codes = np.where(some, levels, "b").astype(object)
        encoders = [
            OneHotEncoder(handle_unknown="ignore"),
            OneHotEncoder(drop="first", sparse_output=False),
            OneHotEncoder(min_frequency=6, handle_unknown="infrequent_if_exist"),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        ]
        text = np.array(["acgtacgt", "ttacgg", "aaccgg", "ggtt"] * 5, dtype=object)
        models = [encoder.fit(rows) for encoder in encoders for rows in (levels, codes)]
        models += [
            SVC().fit(_X, np.arange(20) % 3),
            SVC(probability=False, kernel="poly").fit(_X, _Y),
            SVR().fit(_X, _X[:, 0]),
            LocallyLinearEmbedding(n_components=2, neighbors_algorithm="brute").fit(_X),
            KNeighborsRegressor(3, algorithm="brute").fit(_X, _X[:, :2]),
            MLkNN(3).fit(_X, (_X[:, :2] > 0).astype(int)),
            TransformedTargetRegressor(SVR(), transformer=StandardScaler()).fit(_X, _X[:, 0]),
            make_pipeline(StandardScaler(), LogisticRegression()).fit(_X, _Y),
            RidgeClassifier().fit(_X, _Y),
            QuantileTransformer(n_quantiles=5).fit(_X),
            ColumnTransformer([("one", OneHotEncoder(), [0])], remainder="passthrough").fit(
                np.hstack([np.arange(20)[:, None] % 3, _X])
            ),
            depmax.KernelPLSClassifier(2).fit(_X, _Y),
            depmax.HBFE(2, kernel=depmax.kernels.Subsequence(2)).fit(text, _Y),
            depmax.HBFE(2, kernel=depmax.kernels.Spectrum(2)).fit(text, _Y),
            depmax.SMA(2, random_state=np.random.RandomState(0)).fit(_X, _Y),
            depmax.KernelRidgeElimination(2).fit(_X, _Y),
            depmax.Residual(given=[0]).fit(_X, _Y),
            depmax.Prepare().fit(_X, _Y),
        ]
        return [
            *super().whole(),
            *(_saved(partial(save_model, model), self.suffix) for model in models),
        ]

    def read(self, path: Path) -> None:
        """Used on rows of every kind that the models are of, until one of them is taken."""
        from depmax.persistence import load_model

        rows: tuple[Any, ...] = (
            _X,
            np.hstack([np.ones((20, 1)), _X]),
            np.array([["a"], ["b"], ["z"]], dtype=object),
            np.array(["acgt", "tt"], dtype=object),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged model may warn; only what it does counts
            model = load_model(path, any_version=True)
            for X in rows:
                for use in ("transform", "predict", "decision_function", "inverse_transform"):
                    with contextlib.suppress(Exception):
                        answer = getattr(model, use)(X)
                        getattr(answer, "toarray", lambda: None)()


class Neural(Model):
    """Fitted networks, damaged as other models are."""

    def whole(self) -> list[bytes]:
        """An autoencoder and an extractor."""
        from depmax import save_model
        from depmax.neural import Autoencoder, NeuroHBFE

        with warnings.catch_warnings():
            # networks of few steps, which do not converge
            warnings.simplefilter("ignore")
            models = (
                Autoencoder(2, hidden_layers=(4,), random_state=0).fit(_X),
                NeuroHBFE(2, hidden_layers=(4,), random_state=0).fit(_X, _Y),
            )
        return [_saved(partial(save_model, model), self.suffix) for model in models]


_X = rng.normal(size=(20, 4))
_Y = (_X[:, 0] > 0).astype(int)


def damage_sealed(content: bytes, rng: random.Random) -> bytes:
    """With the old checksum, as accidents leave it, or with a right one, as attackers do."""
    if rng.random() < 0.3:
        return damage_bytes(content, rng)
    try:
        return seal(damage_archive(content, rng, text=(".json",)))
    except Exception:  # an archive that can no longer be opened, which any reader refuses
        return damage_bytes(content, rng)


def damage_attributes(content: bytes, rng: random.Random) -> bytes:
    """The model with one to three of its values replaced, sealed as if it had been fitted so."""
    import skops.io

    types = skops.io.get_untrusted_types(data=content)
    model = skops.io.loads(content, trusted=types)
    for _ in range(rng.choice((1, 1, 2, 3))):
        replace_value(model, rng)
    try:
        packed = io.BytesIO(skops.io.dumps(model))
    except Exception:  # nobody can write it: a model that holds itself, types that skops has not
        return damage_bytes(content, rng)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("depmax.json", '{"versions": {}, "notes": {}}')
    return seal(packed.getvalue())


def _saved(save: Callable[[str], None], suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        save(str(path))
        return path.read_bytes()


TARGETS: dict[str, Callable[[], Any]] = {
    "csv": lambda: Data(".csv", _delimited, damage_text),
    "csv.gz": lambda: Data(".csv.gz", _gzip, damage_gzip),
    "parquet": lambda: Data(".parquet", _parquet, damage_bytes),
    "arrow": lambda: Data(".arrow", _arrow, damage_bytes),
    "folder.parquet": lambda: Folder(".parquet", _parquet, damage_bytes),
    "folder.arrow": lambda: Folder(".arrow", _arrow, damage_bytes),
    **(
        {"xlsx": lambda: Data(".xlsx", _xlsx, partial(damage_archive, text=(".xml", ".rels")))}
        if find_spec("openpyxl")
        else {}
    ),
    "model": Model,
    "attributes": Attributes,
    **({"neural": Neural} if find_spec("torch") else {}),
}
