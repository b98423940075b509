"""``depmax transform``: features of new rows by a saved model."""

from __future__ import annotations

from typing import Annotated

import typer

from depmax.cli import options as o
from depmax.cli.errors import guarded
from depmax.cli.output import Output


@guarded
def transform(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="File of depmax fit.", show_default=False)
    ],
    data: o.Data,
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV, TSV, Parquet, Arrow/Feather or NPZ file."
        ),
    ],
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMN",
            help="Copy a column of DATA beside the features, such as "
            "an identifier; may be repeated.",
        ),
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            metavar="TYPE",
            help="A type in the model that you trust, unknown to depmax; may be repeated.",
        ),
    ] = None,
    any_version: Annotated[
        bool, typer.Option("--any-version", help="Load a model of another depmax version.")
    ] = False,
    separator: o.Separator = None,
    decimal: o.Decimal = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    missing: o.Missing = None,
    sheet: o.Sheet = None,
    max_memory: o.MaxMemory = None,
    as_json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Turn new rows into the features of a model.

    The columns are found by name and checked by type; others are ignored. CSV, TSV, Parquet and
    Arrow files may be larger than memory.

    [bold]Examples[/]

      depmax transform model.skops new.parquet -o features.parquet

      depmax transform model.skops new.csv -o features.csv --keep patient
    """
    import polars as pl

    from depmax.cli import streaming
    from depmax.cli.errors import DataError, ModelError, nearest
    from depmax.cli.reading import open_source
    from depmax.cli.writing import open_writer, require_format
    from depmax.persistence import inspect, load_model

    out = Output(as_json=as_json, quiet=quiet)
    place = require_format(output, reads=(model, data))
    reading = o.read_options(separator, decimal, encoding, header, missing, max_memory, sheet)
    open_source(data)  # refuses a file that is not there before a model is loaded
    try:
        notes = inspect(model).notes
    except FileNotFoundError as error:
        raise ModelError(str(error)) from None
    fitted = load_model(model, trusted=trust, any_version=any_version)
    if not hasattr(fitted, "transform"):
        raise ModelError(f"{model} holds a {type(fitted).__name__}, which cannot transform rows.")
    source = open_source(data, streaming.as_fitted(reading, notes))
    columns = streaming.model_columns(fitted, notes, source)
    streaming.check_columns(source, columns)
    assumed = source.assumptions()
    out.note(assumed)
    out.result("notes", assumed)
    copied = list(keep or ())
    for name in copied:
        if name not in source.schema():
            known = list(source.schema())
            raise DataError(f"--keep: {data} has no column named {name!r}.{nearest(name, known)}")
    needed = list(dict.fromkeys([*columns, *copied]))
    fills = "fill" in getattr(fitted, "named_steps", {})
    rows, total = 0, source.n_rows()
    with (
        out.counting() as count,
        open_writer(place) as writer,
    ):
        for batch in source.batches(needed, streaming.batch_rows(len(needed))):
            inputs = streaming.conform(batch, columns, gaps=fills, where=data)
            features = streaming.apply(fitted, inputs, _names(fitted))
            beside = [name for name in copied if name not in features.columns]
            copies = [batch.get_column(name) for name in beside]
            writer.add(pl.DataFrame([*copies, *features.get_columns()]))
            rows += batch.height
            count("transforming rows", rows, total)
        if rows == 0:
            raise DataError(f"{data} has no rows.")
    out.result("rows", rows)
    label = f"{rows:,} row{'' if rows == 1 else 's'} written:"
    out.command("output", str(place), label)
    out.finish()


def _names(model: object) -> list[str]:
    named = getattr(model, "get_feature_names_out", None)
    return [] if named is None else [str(name) for name in named()]
