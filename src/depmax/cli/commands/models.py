"""``depmax fit`` and ``depmax transform``: save a model to a file, and apply it to new rows."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Any

import typer

from depmax._extras import require
from depmax._text import counted, listed
from depmax.cli import options as o
from depmax.cli.output import Output


@o.command
def fit(
    data: o.Data,
    target: o.Target = None,
    *,
    output: str = o.option(
        "Path of the model file; a name that ends in .onnx writes an ONNX graph.",
        "--output",
        "-o",
        default="model.skops",
        metavar="FILE",
    ),
    method: o.Method = "KernelRidgeElimination",
    n: str | None = o.option(
        "Number of features; for selectors also a share below 1, or auto. By default the method "
        "decides.",
        "-n",
        "--n",
        metavar="N",
    ),
    columns: o.Columns,
    reading: o.Reading,
    fitting: o.Fitting,
    out: Output,
) -> None:
    """Fit a method and save the model, for depmax transform or depmax.load_model in Python.

    The file holds no code, and loading it runs none. If a table has more than 100 million cells
    (Parquet or Arrow files, or a folder of them), HBFE, HSCA, KernelPLS, KernelLDA, SIR, PHD, SMA,
    SMC, ICAFX and LinearRegressionFeature are fitted to all rows in parts, other methods to 100,000
    random rows; a note says so.

    For programs other than depmax, a FILE that ends in .onnx is written as an ONNX graph. It takes
    a table of numbers, so other columns must be dropped.

    [bold]Examples[/]

      depmax fit patients.csv --target outcome -n 5 -o model.skops

      depmax fit spectra.parquet -t sugar -m HSCA -n 3 --set kernel=laplace

      depmax transform model.skops new.csv -o features.csv
    """
    from sklearn.utils import get_tags

    from depmax.cli.methods import build, find_method, fit_model, model_notes
    from depmax.cli.streaming import can_stream, fit_streamed
    from depmax.cli.table import ask, is_large
    from depmax.cli.writing import require_place, writing_to

    known = find_method(method)
    estimator = build(known, n, fitting)
    place = require_place(output, reads=(data,))
    as_graph = place.suffix.lower() == ".onnx"
    if as_graph:
        require(f"Writing {place.name}", "skl2onnx")
    source = reading.open(data)
    uses_missing = columns.weight is None and get_tags(estimator).input_tags.allow_nan
    asked = columns.request(target, draws_rows=True, seed=fitting.seed, uses_missing=uses_missing)
    table = ask(out, source, asked)
    if as_graph:
        _require_numbers(table)
    if is_large(source) and can_stream(source, estimator, columns):
        rows = counted(source.n_rows() or 0, "row")
        with out.working(f"{known.name} on {rows} and {counted(table.X.width, 'column')}"):
            model = fit_streamed(source, table, estimator, scale=fitting.scale)
        out.note([f"{known.name} was fitted to all {rows}, read in parts."])
    else:
        model = fit_model(out, table, known, estimator, scale=fitting.scale)
    with writing_to(place):
        if as_graph:
            from depmax.onnx import to_onnx

            to_onnx(model, place)
        else:
            from depmax.persistence import save_model

            save_model(model, place, notes=model_notes(table, known.name, data))
    features = [str(name) for name in model.named_steps["method"].get_feature_names_out()]
    out.result("method", known.name)
    out.result("features", features)
    out.command("output", str(place), f"Model with {counted(len(features), 'feature')} written:")
    out.finish()


def _require_numbers(table: Any) -> None:
    """Refuse columns that an ONNX graph cannot take, before anything is fitted."""
    from depmax.cli.errors import DataError

    others = [name for name, kind in table.types.items() if kind != "number"]
    if others:
        raise DataError(
            "An ONNX graph takes only numbers. Drop these columns with --drop, encode them as "
            f"numbers, or write a .skops file: {listed(others)}."
        )


@o.command
def transform(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Model file written by depmax fit.", show_default=False
        ),
    ],
    data: o.Data,
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="CSV, TSV, Parquet or Arrow/Feather file; - is standard output, as CSV.",
        ),
    ],
    keep: list[str] | None = o.option(
        "Also write a column of DATA, such as an identifier, next to the features; may be "
        "repeated.",
        metavar="COLUMN",
    ),
    trust: list[str] | None = o.rare(
        "Trust this type in the model although depmax does not know it; may be repeated.",
        metavar="TYPE",
    ),
    any_version: bool = o.rare(
        "Load a model saved by another version of depmax.", "--any-version", default=False
    ),
    reading: o.Reading,
    out: Output,
) -> None:
    """Turn new rows into the features of a model.

    The columns are found by name and checked by type; others are ignored. CSV, TSV, Parquet and
    Arrow files may be larger than memory. A CSV has the separator and the decimal mark of DATA.

    [bold]Examples[/]

      depmax transform model.skops new.parquet -o features.parquet

      depmax transform model.skops new.csv -o features.csv --keep patient

      depmax transform model.skops new.csv -o - | head
    """
    import polars as pl

    from depmax.cli import streaming
    from depmax.cli.errors import DataError, ModelError
    from depmax.cli.reading import open_source
    from depmax.cli.table import require_columns
    from depmax.cli.writing import open_writer, require_format
    from depmax.persistence.model_files import read_model

    place = require_format(output, out, reads=(model, data))
    open_source(data)  # refuses a file that is not there before a model is loaded
    try:
        fitted, file = read_model(model, trusted=trust, any_version=any_version)
    except FileNotFoundError as error:
        raise ModelError(str(error)) from None
    notes = file.notes
    if not hasattr(fitted, "transform"):
        raise ModelError(f"{model} holds a {type(fitted).__name__}, which cannot transform rows.")
    source = open_source(data, streaming.as_fitted(reading.options(), notes))
    columns = streaming.model_columns(fitted, notes, source)
    streaming.check_columns(source, columns)
    assumed = source.assumptions()
    out.note(assumed)
    out.result("notes", assumed)
    copied = list(keep or ())
    require_columns(copied, list(source.schema()), "--keep", data)
    needed = list(dict.fromkeys([*columns, *copied]))
    fills = streaming.takes_gaps(fitted)
    rows, total, began = 0, source.n_rows(), perf_counter()
    with (
        out.counting() as count,
        open_writer(place, source.marks()) as writer,
    ):
        for batch in source.batches(needed, streaming.batch_rows(len(needed))):
            inputs = streaming.conform(batch, columns, gaps=fills, where=data)
            features = streaming.apply(fitted, inputs, _names(fitted))
            beside = [name for name in copied if name not in features.columns]
            copies = [batch.get_column(name) for name in beside]
            writer.add(pl.DataFrame([*copies, *features.get_columns()]))
            rows += batch.height
            if rows == batch.height and total:
                out.expect("The rest", (perf_counter() - began) * (total / rows - 1))
            count("transforming rows", rows, total)
        if rows == 0:
            raise DataError(f"{data} has no rows.")
    out.result("rows", rows)
    out.command("output", str(place), f"{counted(rows, 'row')} written:")
    out.finish()


def _names(model: object) -> list[str]:
    named = getattr(model, "get_feature_names_out", None)
    return [] if named is None else [str(name) for name in named()]
