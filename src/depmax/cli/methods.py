"""Methods and their parameters by name."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from inspect import isclass
from typing import Any, Literal

from depmax.cli.errors import UserError, nearest

Role = Literal["selector", "extractor"]
_SIZES: dict[Role, str] = {"selector": "n_features_to_select", "extractor": "n_components"}


def methods(role: Role | None = None) -> dict[str, type]:
    """Every estimator of depmax, or those of a role, by name in small letters."""
    import depmax
    from depmax import maps

    rooms = [(depmax, depmax.__all__), (maps, maps.__all__)]
    found = {}
    for room, names in rooms:
        for name in names:
            value = getattr(room, name)
            known = role_of(value) if isclass(value) else None
            if known and role in (None, known) and not name.startswith("_"):
                found[name.lower()] = value
    return {name: kind for name, kind in sorted(found.items()) if name != "featuremap"}


def role_of(kind: type) -> Role | None:
    """Whether a class selects columns, extracts new ones, or neither."""
    if not hasattr(kind, "fit") or not hasattr(kind, "transform"):
        return None
    try:
        parameters = kind().get_params()
    except TypeError:
        return None
    return next((role for role, size in _SIZES.items() if size in parameters), None)


def find_method(name: str, role: Role | None = None) -> type:
    """The class of a method by its name, whatever its letters' case."""
    known = methods(role)
    if fold(name) in known:
        return known[fold(name)]
    raise UserError(
        f"--method: no {role or 'method'} is named {name!r}."
        f"{nearest(name, [kind.__name__ for kind in known.values()])}"
    )


def fold(name: str) -> str:
    """A name without case, spaces and hyphens.

    Examples
    --------
    >>> fold("HSIC-Lasso")
    'hsiclasso'
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())


def build(
    kind: type, size: Any, settings: Sequence[str], *, seed: int | None, n_jobs: int | None
) -> Any:
    """An unfitted estimator with its size and settings of the form NAME=VALUE."""
    role = role_of(kind)
    assert role is not None
    model = kind() if size is None else kind(size)
    parameters = model.get_params()
    common = {"random_state": seed, "n_jobs": n_jobs}
    given = {k: v for k, v in common.items() if k in parameters and v is not None}
    for setting in settings:
        name, _, text = setting.partition("=")
        name = name.strip()
        if not _ or not name:
            raise UserError(f"--set needs NAME=VALUE, such as kernel=laplace, got {setting!r}.")
        owner = name.split("__")[0]
        if owner not in parameters:
            raise UserError(
                f"--set: {kind.__name__} has no parameter {name!r}.{nearest(name, parameters)}"
            )
        given[name] = _value(text)
    return _set(model, given)


def parse_size(text: str | None) -> Any:
    """A number of columns, a share, or "auto"."""
    if text is None or text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise UserError(
            f"-n must be a number of columns, a share below 1, or auto, got {text!r}."
        ) from None


def _set(model: Any, given: dict[str, Any]) -> Any:
    """Set parameters; a kernel's own (kernel__bandwidth) make an object of its name first."""
    from depmax.kernels import as_kernel

    nested = {name.split("__")[0] for name in given if "__" in name}
    for owner in nested:
        value = given.get(owner, model.get_params()[owner])
        if "kernel" in owner and isinstance(value, str) and value != "auto":
            given[owner] = as_kernel(value)
    try:
        plain = {name: value for name, value in given.items() if "__" not in name}
        model.set_params(**plain)
        return model.set_params(**{k: v for k, v in given.items() if k not in plain})
    except ValueError as error:
        raise UserError(f"--set: {error}") from None


def _value(text: str) -> Any:
    """A Python literal, or text."""
    plain = {"true": True, "false": False, "none": None}
    if text.strip().lower() in plain:
        return plain[text.strip().lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
