"""Methods and their parameters by name."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, cast

from sklearn.pipeline import Pipeline

from depmax._text import counted
from depmax.cli.errors import UserError, nearest
from depmax.cli.options import Fitting
from depmax.cli.output import Output
from depmax.cli.table import Table, mention_searched_rows
from depmax.evaluation import Method, Prepare, ScreenFirst, Sized
from depmax.evaluation.comparison.catalogue import BLOCK_ROWS, catalogue, plain_name

Role = Literal["selector", "extractor"]


@dataclass(frozen=True)
class Known:
    """A method that ``--method`` takes."""

    name: str
    make: Callable[[], Any]  # unfitted, with the settings that --set starts from
    size: str | None  # parameter that -n sets; None where there is no choice
    takes_shares: bool  # whether -n may be a share or "auto"
    method: Method

    @property
    def role(self) -> Role:
        """What it does with columns."""
        return "selector" if self.method.selects else "extractor"


def methods(role: Role | None = None) -> dict[str, Known]:
    """Every method of the catalogue by its plain name; a part of depmax has its own defaults."""
    known = {name: _known(method) for name, method in sorted(catalogue().items())}
    return {name: method for name, method in known.items() if role in (None, method.role)}


def _known(method: Method) -> Known:
    made = cast(Sized, method.make)
    kind = getattr(made.estimator, "func", made.estimator)  # a class, or a partial of one
    kind = kind if isinstance(kind, type) else type(kind)
    own = kind.__module__.startswith("depmax.") and plain_name(kind.__name__) == plain_name(
        method.name
    )
    return Known(
        kind.__name__ if own else method.name,
        kind if own else made.make,
        made.parameter,
        own or method.selects,
        method,
    )


def find_method(name: str, role: Role | None = None) -> Known:
    """A method by its name, whatever its case, spaces and hyphens."""
    known = methods(role)
    if plain_name(name) in known:
        return known[plain_name(name)]
    other = methods().get(plain_name(name))
    if other is not None:
        raise UserError(
            f"--method: {other.name} makes new features and selects no columns: use depmax fit."
        )
    hint = nearest(name, [method.name for method in known.values()])
    raise UserError(f"--method: there is no {role or 'method'} named {name!r}.{hint}")


def build(method: Known, n: str | None, fitting: Fitting) -> Any:
    """An unfitted estimator with its size and settings of the form NAME=VALUE."""
    screen = fitting.screen
    if screen is not None and method.role != "selector":
        raise UserError(
            f"--screen: {method.name} makes new features from all columns; omit --screen."
        )
    model = method.make()
    parameters = model.get_params()
    common = {"random_state": fitting.seed, "n_jobs": fitting.n_jobs}
    given = {k: v for k, v in common.items() if k in parameters and v is not None}
    size = _size(method, n)
    if size is not None:
        given[str(method.size)] = size
    for setting in fitting.settings or ():
        name, _, text = setting.partition("=")
        name = name.strip()
        if not _ or not name:
            raise UserError(f"--set needs NAME=VALUE, such as kernel=laplace, got {setting!r}.")
        owner = name.split("__")[0]
        if owner not in parameters:
            raise UserError(
                f"--set: {method.name} has no parameter {name!r}.{nearest(name, parameters)}"
            )
        given[name] = _value(text)
    built = _set(model, given)
    return built if screen is None else ScreenFirst(built, screen, size)


def settings_of(method: Known, estimator: Any, n_rows: int) -> list[str]:
    """Settings with which the method finds the features of an estimator, its size left out.

    The other way round than :func:`build`: what to type after --set. What changes no feature of a
    table with so many rows is not typed.
    """
    defaults, settings = method.make().get_params(), estimator.get_params()
    unimportant = {method.size, "random_state", "n_jobs", "pvalues"}  # the size is a number
    if defaults.get("block_size") == "auto" and settings["block_size"] == BLOCK_ROWS >= n_rows:
        unimportant.add("block_size")  # one block, as with "auto"
    return [
        f"{name}={value}"
        for name, value in settings.items()
        if name not in unimportant and _differ(value, defaults.get(name))
    ]


def _differ(value: Any, default: Any) -> bool:
    if hasattr(value, "get_params"):  # its parameters are compared one by one
        return type(value) is not type(default)
    return bool(value != default)


def _size(method: Known, text: str | None) -> Any:
    """A number of columns, a share, or "auto"."""
    if text is None:
        return None
    size: Any = text
    for kind in (float, int) if text != "auto" else ():
        with suppress(ValueError):
            size = kind(text)
    if size == text != "auto":
        raise UserError(f"-n must be a number of columns, a share below 1, or auto, got {text!r}.")
    if method.size is None:
        raise UserError(f"-n: {method.name} has no number of features to choose; omit -n.")
    if not method.takes_shares and not isinstance(size, int):
        raise UserError(f"-n must be a whole number for {method.name}, got {size}.")
    return size


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


def fit_model(out: Output, table: Table, method: Known, estimator: Any, *, scale: bool) -> Pipeline:
    """Fit a method; the pipeline takes a frame with the table's columns and gives one of features.

    The columns are prepared as in a comparison: what won there is what is fitted here. A selector
    searches on standardised columns and keeps them as they are but for their gaps: its columns come
    out in their own units.
    """
    mention_searched_rows(out, table, method.name, estimator)
    encode = not method.method.takes_categories and "category" in table.types.values()
    prepare = Prepare(table.fill, scale=scale, encode=encode)
    X = prepare.fit_transform(table.X)
    steps: list[tuple[str, Any]] = [] if table.expand is None else [("expand", table.expand)]
    if method.role != "selector":
        steps.append(("prepare", prepare))
    elif table.fill is not None:
        steps.append(("prepare", Prepare(table.fill, scale=False).fit(table.X)))
    takes = signature(estimator.fit).parameters
    rows: dict[str, Any] = {"sample_weight": table.weights, "groups": table.groups}
    rows = {name: values for name, values in rows.items() if values is not None}
    if "sample_weight" in rows and "sample_weight" not in takes:
        raise UserError(
            f"--weight: {method.name} counts every row once. Omit --weight and ignore the "
            "column with --drop, or use another method, such as BAHSIC or HBFE."
        )
    if "groups" in rows and "groups" not in takes:
        raise UserError(
            f"--groups: {method.name} has no p-values that groups of rows could change. Omit "
            "--groups and ignore the column with --drop, or use another method, such as BAHSIC."
        )
    with out.working(
        f"{method.name} on {counted(X.height, 'row')} and {counted(table.X.width, 'column')}"
    ):
        estimator.fit(X, table.y, **rows)
    estimator.set_output(transform="polars")
    return Pipeline([*steps, ("method", estimator)])


def model_notes(table: Table, method: str, data: str) -> dict[str, Any]:
    """What ``transform`` needs to know of the table that a model was fitted on."""
    return {
        "columns": [{"name": name, "type": kind} for name, kind in table.types.items()],
        "target": list(table.target_names),
        "target_type": table.target.kind,
        "rows": table.X.height,
        "method": method,
        "data": data,
        "written": table.written,
    }
