"""Model files: written whole, sealed with a checksum, and loaded only if all their types are known.

A file is a skops archive with one more member, ``depmax.json``, which records the versions that
wrote it, and a checksum at its end. Needs skops: ``pip install 'depmax[cli]'``.
"""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np
import scipy
import sklearn
from sklearn.exceptions import InconsistentVersionWarning

from depmax._extras import require
from depmax._files import replacing
from depmax._resources import FileTooLargeError, max_memory, require_memory
from depmax._version import __version__
from depmax.persistence.archives import (
    DamagedArchiveError,
    loaded_bytes,
    read_sealed,
    require_sizes,
    seal,
)
from depmax.persistence.soundness import find_danger
from depmax.persistence.trust import nodes, sort_types

_DESCRIPTION = "depmax.json"
#: Parts of scikit-learn for other libraries' arrays.
_NEEDS_TORCH = tuple(
    f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")
)


class ModelFileError(ValueError):
    """A model file that cannot be loaded, and why."""


@dataclass(frozen=True)
class ModelFile:
    """What a model file says about itself, read without loading the model."""

    path: Path
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    #: Types in the file that depmax does not write, or not in this way.
    unknown_types: tuple[str, ...] = ()


def save_model(
    model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None
) -> None:
    """Save a fitted estimator, pipeline or kernel to a file.

    The file is written completely or not at all: an interrupted run leaves an older file unchanged.

    Parameters
    ----------
    model : estimator
        With parameters and attributes that skops can store: those of depmax and scikit-learn,
        arrays, plain values, and your own classes and functions that can be imported. Columns of a
        ColumnTransformer or FeatureUnion that a pandas Index or Series names are saved as a list.
    path : path of the file, usually ending in ``.skops``
    notes : mapping, optional
        Anything that JSON can hold; :func:`inspect` reads it back.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from depmax import BAHSIC, load_model, save_model
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> path = tempfile.mkdtemp() + "/model.skops"
    >>> save_model(BAHSIC(1).fit(X, X[:, 2]), path)
    >>> load_model(path).support_
    array([False, False,  True, False])
    """
    skops = _skops()
    danger = find_danger(model)
    if danger is not None:
        raise TypeError(f"{_name(model)} cannot be saved: {danger}.")
    prepared = _without_pandas(model)
    try:
        content = skops.dumps(prepared, compression=ZIP_DEFLATED)
        types = skops.get_untrusted_types(data=content)
    except Exception as error:  # skops raises many kinds
        raise TypeError(f"{_name(model)} cannot be saved: {error}") from error
    lost = [name for name in types if not _can_be_imported(name)]
    if lost:
        raise TypeError(
            f"{_name(model)} cannot be saved, since {lost[0]} could not be found again: define it "
            "at the top of a module that can be imported, not in a function, a script or a lambda."
        )
    description = {"versions": _versions(), "notes": dict(notes or {})}
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a", ZIP_DEFLATED) as archive:
        archive.writestr(_DESCRIPTION, json.dumps(description))
    with replacing(path) as temporary:
        temporary.write_bytes(seal(buffer.getvalue()))


def load_model(
    path: str | os.PathLike[str],
    trusted: Iterable[str | type] | None = None,
    *,
    any_version: bool = False,
    max_memory: int | str | None = None,
) -> Any:
    """Load a model that :func:`save_model` wrote.

    No code from the file is run. The types that depmax itself writes are known: its own, arrays,
    and those of scikit-learn that prepare columns or that methods are compared with. Any other is
    refused, with an error that names it, unless ``trusted`` lists it. A file that was changed after
    it was written is refused too.

    Parameters
    ----------
    path : path of the file
    trusted : iterable of names or types, optional
        Types to accept besides the known ones, as ``"package.module.Class"``: list only what you
        trust.
    any_version : bool, default=False
        Also load a model saved by another version of depmax, at your own risk and with a warning.
    max_memory : int or str, optional
        Bytes that the model may take, or a size such as ``"16GB"``; ``"none"`` lifts the limit. By
        default the value of the environment variable ``DEPMAX_MAX_MEMORY``, or 4 GB.

    Returns
    -------
    the model

    Raises
    ------
    ModelFileError
        If the file is cut off, damaged or changed, is not a model, was written by another version
        of depmax, would take too much memory, or holds types that are not trusted.
    """
    return read_model(path, trusted, any_version=any_version, max_memory=max_memory)[0]


def read_model(
    path: str | os.PathLike[str],
    trusted: Iterable[str | type] | None = None,
    *,
    any_version: bool = False,
    max_memory: int | str | None = None,
) -> tuple[Any, ModelFile]:
    """A model as :func:`load_model` loads it, and what its file says: the same bytes, read once."""
    file, content, known = _inspected(path, max_memory)
    skops = _skops()
    listed = [name if isinstance(name, str) else _qualified(name) for name in trusted or ()]
    unknown = [name for name in file.unknown_types if name not in listed]
    if unknown:
        raise ModelFileError(
            f"{file.path} holds types that depmax does not know: {', '.join(unknown)}. If you know "
            f"and trust them, list them: trusted={unknown!r}."
        )
    _check_versions(file, any_version)
    try:
        with warnings.catch_warnings():
            # _check_versions has already warned about scikit-learn's version, in one line.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = skops.loads(content, trusted=[*known, *listed])
    except Exception as error:  # what a damaged or foreign file raises is unbounded
        written = file.versions.get("depmax", "an unknown version")
        raise ModelFileError(
            f"{file.path} cannot be loaded ({type(error).__name__}: {error}). It was written by "
            f"depmax {written}; this is {__version__}."
        ) from error
    danger = find_danger(model)
    if danger is not None:
        raise ModelFileError(f"{file.path} is not loaded: {danger}.")
    return model, file


def inspect(path: str | os.PathLike[str]) -> ModelFile:
    """What a model file says about itself: versions, notes, unknown types. Loads no model.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    ModelFile
    """
    return _inspected(path, None)[0]


def _inspected(
    path: str | os.PathLike[str], limit: int | str | None
) -> tuple[ModelFile, bytes, set[str]]:
    """What a file says, its bytes, which are read once, and the known types in it."""
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"The model file {path} {what}.")
    allowed = max_memory(limit)
    try:
        content = read_sealed(path, allowed)
        with ZipFile(io.BytesIO(content)) as archive:
            sizes = require_sizes(archive, path, allowed)
            if "schema.json" not in sizes:
                raise ModelFileError(f"{path} is not a model file: schema.json is missing.")
            schema = json.loads(archive.read("schema.json"))
            description = json.loads(archive.read(_DESCRIPTION)) if _DESCRIPTION in sizes else {}
        require_memory(loaded_bytes(nodes(schema), sizes), allowed, path, "a model")
        # a known type counts as unknown where it is made in a way that calls something
        known, unknown = sort_types(schema)
        unknown |= {*_skops().get_untrusted_types(data=content)} - known
        file = ModelFile(
            path,
            {str(key): str(value) for key, value in description.get("versions", {}).items()},
            dict(description.get("notes", {})),
            tuple(sorted(unknown)),
        )
        return file, content, known
    except ModelFileError:
        raise
    except (FileTooLargeError, DamagedArchiveError) as error:
        raise ModelFileError(str(error)) from None
    except (BadZipFile, EOFError):
        raise ModelFileError(
            f"{path} is not a valid model file: it was cut off or has another format."
        ) from None
    except ImportError as error:  # a network without torch
        raise ModelFileError(f"{path} cannot be loaded: {error}") from None
    except Exception as error:  # a damaged schema raises anything
        raise ModelFileError(
            f"{path} is damaged or not a model file ({type(error).__name__}: {error})."
        ) from error


def _without_pandas(model: Any) -> Any:
    """The model, with names of columns that a ColumnTransformer or FeatureUnion keeps as lists.

    skops stores no object of pandas. Where another part holds one, it is refused by its place: a
    list might not do what that part expects.
    """
    found = list(_pandas_parts(model, type(model).__name__, set(), named_columns=False))
    for part, place, named_columns in found:
        if not named_columns:
            raise TypeError(
                f"{_name(model)} cannot be saved: {place} is a pandas {_name(part)}, which a model "
                "file cannot hold. Keep a list or an array there, such as list(X.columns)."
            )
    lists = {id(part): part.tolist() for part, _, _ in found}
    # a copy takes what its memo has for an object instead of copying it
    return deepcopy(model, dict(lists)) if lists else model


def _pandas_parts(
    part: Any, place: str, seen: set[int], *, named_columns: bool
) -> Iterator[tuple[Any, str, bool]]:
    """Objects of pandas within a model: each with its place, and whether it names columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion

    if type(part).__module__.partition(".")[0] == "pandas" and hasattr(part, "to_numpy"):
        yield part, place, named_columns and hasattr(part, "tolist")
        return
    if id(part) in seen or isinstance(part, type | np.ndarray):
        return
    seen.add(id(part))
    inner: Iterable[tuple[str, Any]]
    if isinstance(part, Mapping):
        inner = ((f"{place}[{key!r}]", value) for key, value in part.items())
    elif isinstance(part, list | tuple):
        inner = ((f"{place}[{number}]", value) for number, value in enumerate(part))
    elif isinstance(getattr(part, "__dict__", None), dict):
        named_columns = isinstance(part, ColumnTransformer | FeatureUnion)
        inner = ((f"{place}.{name}", value) for name, value in vars(part).items())
    else:
        return
    for where, value in inner:
        yield from _pandas_parts(value, where, seen, named_columns=named_columns)


def _check_versions(file: ModelFile, any_version: bool) -> None:
    written, here = file.versions.get("depmax"), __version__
    if written is None:
        warnings.warn(
            f"{file.path} does not state the version that wrote it: it was not written by "
            "depmax.save_model.",
            stacklevel=3,
        )
    elif _release(written) != _release(here):
        difference = f"{file.path} was written by depmax {written}, but this is depmax {here}"
        if not any_version:
            raise ModelFileError(
                f"{difference}: fit the model again, or install depmax {written}. To load it "
                "anyway: any_version=True (command line: --any-version)."
            )
        warnings.warn(f"{difference}: results may differ.", stacklevel=3)
    other = file.versions.get("scikit-learn")
    if other is not None and _release(other) != _release(sklearn.__version__):
        warnings.warn(
            f"{file.path} was written with scikit-learn {other}, but this is scikit-learn "
            f"{sklearn.__version__}: where the model has parts of scikit-learn, fit it again.",
            stacklevel=3,
        )


def _release(version: str) -> Sequence[str]:
    """The part of a version within which files are exchanged: 0.1 of 0.1.3."""
    return version.split(".")[:2]


def _versions() -> dict[str, str]:
    return {
        "depmax": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def _can_be_imported(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if module == "__main__":
        return False
    if _imported(module, attribute) is not None:
        return True
    owner, _, name_of_class = module.rpartition(".")  # a method: package.module.Class.method
    return bool(owner) and hasattr(_imported(owner, name_of_class), attribute)


def _imported(module: str, attribute: str) -> Any:
    try:
        return getattr(import_module(module), attribute, None)
    except (ImportError, ValueError):
        return None


def _qualified(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


def _name(model: Any) -> str:
    return type(model).__name__


def _skops() -> Any:
    """The library, without torch: to list all estimators, it imports every part of scikit-learn.

    One of those parts imports torch where it is installed, which takes seconds and half a gigabyte.
    """
    require("Saving and loading models", "skops")
    skipped = [name for name in _NEEDS_TORCH if name not in sys.modules]
    if "torch" not in sys.modules:  # to import what is None is an ImportError
        sys.modules.update(dict.fromkeys(skipped))  # type: ignore[arg-type]  # None is how a module is hidden
    try:
        import skops.io
    finally:
        for name in skipped:
            if sys.modules.get(name, "") is None:
                del sys.modules[name]
    return skops.io
