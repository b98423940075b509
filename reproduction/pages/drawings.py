"""Pictures of docs/images that are drawn from files of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from reproduction import bahsic_figure1, bahsic_figure5

Row = dict[str, Any]


def draw(name: str, rows: Sequence[Row], path: Path) -> None:
    """Draw the picture of a table."""
    figure = DRAWINGS[name](rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def artificial(rows: Sequence[Row]) -> Figure:
    """Rank of the relevant features against the number of samples, a panel per problem."""
    titles = {
        "xor": "Two classes (XOR)",
        "classes": "Four classes, three collinear",
        "regression": "Nonlinear regression",
    }
    styles = {
        "BAHSIC": ("tab:red", "s", "-"),
        "BAHSIC, one round": ("tab:red", "s", ":"),
        "FOHSIC": ("black", "^", "-"),
        "Pearson": ("tab:blue", "o", "-"),
        "MI": ("tab:purple", "v", "-"),
        "Relief": ("tab:green", "<", "-"),
    }
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    for panel, (problem, title) in zip(panels, titles.items(), strict=True):
        for method, (colour, marker, line) in styles.items():
            mine = [
                row
                for row in rows
                if (row["dataset"], row["method"]) == (problem, method) and row["ours"] is not None
            ]
            if mine:
                panel.plot(
                    [row["n_samples"] for row in mine],
                    [row["ours"] for row in mine],
                    color=colour,
                    marker=marker,
                    linestyle=line,
                    markersize=4,
                    label=method,
                )
        panel.axhline(1.5, color="0.7", linewidth=0.8, zorder=0)
        panel.set(title=title, xlabel="number of samples")
    panels[0].set_ylabel("median rank of the two\nrelevant features (1.5 is best)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return figure


#: Colours of the methods of the BAHSIC paper.
CURVE_STYLES = {
    "BAHSIC": ("tab:red", "s"),
    "FOHSIC": ("black", "^"),
    "PC": ("tab:blue", "o"),
    "MI": ("tab:purple", "v"),
    "RFE": ("tab:orange", "D"),
    "RELIEF": ("tab:green", "<"),
    "L0": ("tab:brown", ">"),
    "R2W2": ("tab:gray", "P"),
}


def error_curves(rows: Sequence[Row]) -> Figure:
    """Error against the number of features, a panel per data set."""
    done = [row for row in rows if row["ours"] is not None]
    names = list(dict.fromkeys(row["dataset"] for row in done))
    figure, panels = plt.subplots(
        -(-len(names) // 3), 3, figsize=(11, 3.1 * -(-len(names) // 3)), layout="constrained"
    )
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for panel, name in zip(panels.flat, names, strict=False):
        for method, (colour, marker) in CURVE_STYLES.items():
            mine = [row for row in done if (row["dataset"], row["method"]) == (name, method)]
            if mine:
                panel.plot(
                    [row["n_features"] for row in mine],
                    [row["ours"] for row in mine],
                    color=colour,
                    marker=marker,
                    markersize=3.5,
                    linewidth=1.2,
                    label=method,
                )
        panel.set(title=name, xscale="log", xlabel="number of features", ylabel="error (%)")
        counts = sorted({int(row["n_features"]) for row in done if row["dataset"] == name})
        panel.set_xticks(counts, [str(count) for count in counts])
        panel.minorticks_off()
    handles: dict[str, Any] = {}
    for panel in panels.flat:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), list(handles), loc="outside lower center", ncols=8, frameon=False
    )
    return figure


def eigenfunctions(rows: Sequence[Row]) -> Figure:
    """The two columns, the function of largest covariance by width, and the mapped rows."""
    X, y = bahsic_figure1.draw(0)
    colours = np.where(y > 0, "tab:blue", "tab:red")
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    panels[0].scatter(*X.T, s=8, color=colours)
    panels[0].set(title="Data", xlabel="relevant column", ylabel="irrelevant column")
    line = np.linspace(X[:, 0].min(), X[:, 0].max(), 400)
    for width in bahsic_figure1.WIDTHS:
        function, _ = bahsic_figure1.eigenfunction(X[:, 0], y, width)
        panels[1].plot(line, function(line), label=f"σ = {width:g}", linewidth=1.2)
    panels[1].set(title="Function of the largest covariance", xlabel="relevant column")
    panels[1].legend(frameon=False)
    function, _ = bahsic_figure1.eigenfunction(X[:, 0], y, bahsic_figure1.WIDTHS[1])
    panels[2].scatter(function(X[:, 0]), y, s=8, color=colours)
    panels[2].set(
        title=f"Mapped rows, σ = {bahsic_figure1.WIDTHS[1]:g}", xlabel="f(x)", ylabel="label"
    )
    return figure


def gene_planes(rows: Sequence[Row]) -> Figure:
    """Two genes of each kernel, classes told apart by colour and shape."""
    X, y = bahsic_figure5.read()
    figure, panels = plt.subplots(1, len(rows), figsize=(11, 3.6), layout="constrained")
    styles = (("tab:blue", "s"), ("tab:red", "o"), ("tab:green", "D"))
    for panel, row in zip(panels, rows, strict=True):
        first, second = int(row["first_gene"]), int(row["second_gene"])
        for level, (colour, marker) in enumerate(styles):
            mine = y == level
            values = X[mine][:, [first - 1, second - 1]].T
            panel.scatter(*values, s=14, color=colour, marker=marker, label=f"class {level}")
        panel.set(title=row["method"], xlabel=f"gene {first}", ylabel=f"gene {second}")
    panels[0].legend(frameon=False)
    return figure


def growing_curves(rows: Sequence[Row]) -> Figure:
    """Covariance and alignment against the number of features, a line per setting."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for panel, (method, title) in zip(
        panels, {"SMC": "squared covariance", "SMA": "alignment"}.items(), strict=True
    ):
        for name in dict.fromkeys(row["method"] for row in rows):
            extractor, _, legend = name.partition(", ")
            if extractor == method:
                mine = [row for row in rows if row["method"] == name]
                places = [row["n_features"] for row in mine]
                panel.plot(places, [row["ours"] for row in mine], marker="o", label=legend)
        panel.set(title=f"{method}: {title}", xlabel="number of features")
        panel.legend(frameon=False)
    return figure


DRAWINGS: dict[str, Callable[[Sequence[Row]], Figure]] = {
    "bahsic_artificial": artificial,
    "bahsic_figure1": eigenfunctions,
    "bahsic_figure3": error_curves,
    "bahsic_figure5": gene_planes,
    "sparse_pls_figure2": growing_curves,
    "sparse_pls_figure3": growing_curves,
}
