"""Whether what was loaded could have been fitted: attributes that agree with each other.

Compiled code of scikit-learn and numpy trusts what objects hold. A file can hold anything, so the
sizes and indices that such code would follow are compared first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

#: Parameters that would reach beyond the model, so that a file holds them as None.
_RESTRICTED = {"memory": "would read and write pickles in a folder: set it to None"}
#: More processes than this are not asked for by a file.
MOST_JOBS = 256
#: Words of the state of numpy's RandomState.
_WORDS = 624


def find_danger(model: Any) -> str | None:
    """What a loaded model holds that no depmax model does, in words; None if nothing.

    Asked of the objects, not of the file: a file can name one value in two ways.
    """
    for part in parts(model):
        name = type(part).__name__
        if hasattr(part, "check_format"):  # a sparse matrix, whose indices nobody looks at later
            try:
                part.check_format(full_check=True)
            except (ValueError, TypeError, IndexError) as error:
                return f"a sparse matrix contradicts itself ({error})"
        if isinstance(part, np.random.RandomState):
            state = part.get_state(legacy=False)["state"]
            if not 0 <= state["pos"] <= _WORDS:
                return "a RandomState points outside its numbers"
        attributes = getattr(part, "__dict__", None)
        if not isinstance(attributes, dict):
            continue
        if type(part).__module__.partition(".")[0] == "sklearn":
            hidden = sorted(key for key in attributes if hasattr(type(part), str(key)))
            if hidden:
                return f"{name} has another {_short(hidden[0])} than its class"
        check = _SOUND.get(name)
        if check is not None and not _holds(check, attributes):
            return f"fitted attributes of {name} contradict each other"
        for key, reason in _RESTRICTED.items():
            if attributes.get(key) is not None:
                return f"{name}({key}={_short(attributes[key])}) {reason}"
        jobs = attributes.get("n_jobs")
        if isinstance(jobs, int | np.integer) and abs(int(jobs)) > MOST_JOBS:
            return f"{name}(n_jobs={_short(jobs)}) asks for too many processes"
    return None


def _holds(check: Callable[[Mapping[str, Any]], bool], attributes: Mapping[str, Any]) -> bool:
    try:
        return bool(check(attributes))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False


def _machine_is_sound(machine: Mapping[str, Any]) -> bool:
    """Arrays of a support vector machine have the sizes that libsvm expects."""
    if "support_vectors_" not in machine:
        return "_n_support" not in machine  # not fitted
    n_vectors, n_features = machine["support_vectors_"].shape
    regresses = "classes_" not in machine
    n_classes = 2 if regresses else len(machine["classes_"])
    n_pairs = n_classes * (n_classes - 1) // 2
    per_class = machine["_n_support"]
    vectors = [n_vectors] if not regresses else [n_vectors, n_vectors]
    return (
        isinstance(machine["support_vectors_"], np.ndarray)
        and machine["_sparse"] is False
        and machine["kernel"] in ("linear", "poly", "rbf", "sigmoid")
        and per_class.shape == (n_classes,)
        and (per_class >= 0).all()
        and (per_class.tolist() if regresses else [int(per_class.sum())]) == vectors
        and machine["support_"].shape == (n_vectors,)
        and machine["shape_fit_"][1] == n_features == machine["n_features_in_"]
        and all(
            machine[name].shape == (n_classes - 1, n_vectors)
            for name in ("dual_coef_", "_dual_coef_")
        )
        and all(machine[name].shape == (n_pairs,) for name in ("intercept_", "_intercept_"))
        and all(machine[name].shape in {(0,), (n_pairs,)} for name in ("_probA", "_probB"))
    )


def _encoder_is_sound(encoder: Mapping[str, Any]) -> bool:
    """Codes of a OneHotEncoder stay within the columns that it writes."""
    if "categories_" not in encoder:
        return "_n_features_outs" not in encoder  # not fitted
    categories, written = encoder["categories_"], encoder["_n_features_outs"]
    count = len(categories)
    grouping = encoder.get("_infrequent_enabled")
    groups = encoder["_default_to_infrequent_mappings"] if grouping else [None] * count
    rare = encoder["_infrequent_indices"] if grouping else [None] * count
    dropped = encoder["_drop_idx_after_grouping"]
    dropped = [None] * count if dropped is None else dropped
    sound = encoder["n_features_in_"] == count == len(written) == len(groups) == len(rare)
    for levels, width, codes, few, drop in zip(
        categories, written, groups, rare, dropped, strict=True
    ):
        left = len(levels)
        if codes is not None:
            sound &= codes.shape == (left,) and _indices(codes, left)
            left = int(codes.max()) + 1
        sound &= few is None or _indices(few, len(levels))
        sound &= drop is None or _indices(np.asarray(drop), left)
        sound &= isinstance(width, int | np.integer) and width == left - (drop is not None)
        sound &= levels.ndim == 1
    return bool(sound)


def _indices(values: np.ndarray, size: int) -> bool:
    """Whether these are whole numbers from 0 to size - 1."""
    return values.dtype.kind in "iu" and bool(((values >= 0) & (values < size)).all())


def _search_is_sound(search: Mapping[str, Any]) -> bool:
    """Rows of a search for neighbours are those that it says, compared one by one."""
    if "_fit_X" not in search:
        return "_tree" not in search  # not fitted
    rows = search["_fit_X"]
    return (
        isinstance(rows, np.ndarray)
        and rows.dtype in (np.float64, np.float32)
        and rows.shape == (search["n_samples_fit_"], search["n_features_in_"])
        and search["_fit_method"] == "brute"
        and search["effective_metric_"] in ("euclidean", "minkowski")
        and search["_tree"] is None
    )


#: What must hold of classes whose compiled code follows their attributes.
_SOUND: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "KNeighborsRegressor": _search_is_sound,
    "NearestNeighbors": _search_is_sound,
    "OneHotEncoder": _encoder_is_sound,
    "SVC": _machine_is_sound,
    "SVR": _machine_is_sound,
}


def parts(model: Any) -> Iterator[Any]:
    """The model and everything that it holds."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type | str | bytes | int | float):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Mapping):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            waiting.extend(part.ravel().tolist() if part.dtype.hasobject else ())
        elif isinstance(getattr(part, "__dict__", None), dict):
            waiting.extend(vars(part).values())


def _short(value: Any) -> str:
    return repr(value)[:60]
