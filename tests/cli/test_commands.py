"""What each command does, for people, in a pipe and for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import depmax
from depmax.cli.methods import methods
from depmax.evaluation import CAUTIONS
from depmax.persistence import load_model

Run = Callable[..., Any]


def _lines(result: Any) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def _json(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_help_teaches_by_example(run: Run) -> None:
    page = run("--help").output
    for command in ("screen", "select", "fit", "transform", "methods", "datasets"):
        assert f" {command} " in page
        own = run(command, "--help")
        assert own.exit_code == 0
        assert f"depmax {command}" in own.output
    assert "Exit codes" in page
    assert run().exit_code == 2  # without a command: the same page
    assert run("--version").output == f"depmax {depmax.__version__}\n"


def test_help_has_paragraphs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    text = run("compare", "--help").output
    assert "the fewest columns that lose next to nothing are recommended" in text


def test_screen(run: Run, patients: Path, table: pl.DataFrame) -> None:
    result = run("screen", patients, "-t", "cost", "--seed", 0)
    lines = _lines(result)
    assert lines[0] == [
        "column",
        "rank",
        "score",
        "effect",
        "effect_low",
        "effect_high",
        "pvalue",
        "pvalue_adjusted",
    ]
    assert lines[1][:2] == ["age", "1"]
    assert len(lines) == 6
    assert "80 rows, 5 columns; target: cost (numbers from" in result.stderr
    assert "note: Ignored identifier columns 'id', 'name'" in result.stderr
    assert "3 of 5 columns depend on the target (false discovery rate 5%)." in result.stderr
    assert "together" not in result.stderr  # the table says it already
    expected = depmax.screen(table.select("age"), table["cost"])
    assert float(lines[1][2]) == pytest.approx(expected.scores[0], rel=1e-4)
    assert run("screen", patients, "-t", "cost", "--quiet").stderr == ""


def test_screen_given_confounders(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    age, batch = rng.normal(size=200), rng.choice(["a", "b"], 200)
    cause = age + 2.0 * (batch == "b")
    gene, other = cause + 0.5 * rng.normal(size=(2, 200))
    cost = cause + other + 0.5 * rng.normal(size=200)
    columns = {"age": age, "batch": batch, "gene": gene, "other": other, "cost": cost}
    pl.DataFrame(columns).write_csv(tmp_path / "study.csv")
    without = _json(run("screen", "study.csv", "-t", "cost", "--json"))
    assert without["significant"] == 4
    asked = ("screen", "study.csv", "-t", "cost", "--given", "age", "--given", "batch")
    answer = _json(run(*asked, "--json"))
    assert [row["column"] for row in answer["columns"]] == ["other", "gene"]
    assert answer["significant"] == 1
    assert "1 of 2 columns depends on the target given 'age', 'batch'" in run(*asked).stderr
    wrong = run("screen", "study.csv", "-t", "cost", "--given", "agee")
    assert wrong.stderr.startswith("error: --given: study.csv has no column named 'agee'")
    assert "age" in wrong.stderr


def test_screen_as_json_is_the_same_twice(run: Run, patients: Path) -> None:
    first = run("screen", patients, "-t", "outcome", "--json", "--seed", "3", "-q")
    answer = _json(first)
    assert answer["target"] == {"columns": ["outcome"], "type": "classes"}
    assert answer["rows"] == 80
    assert {row["column"] for row in answer["columns"]} >= {"age", "colour", "smoker"}
    assert 0 < answer["all_columns"]["pvalue"] <= 1
    again = run("screen", patients, "-t", "outcome", "--json", "--seed", "3", "-q")
    assert again.stdout == first.stdout


def test_screen_check_tells_scripts(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    noise = pl.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "y": [0, 1] * 30})
    noise.write_csv(tmp_path / "noise.csv")
    assert run("screen", "noise.csv", "-t", "y", "--check", "--seed", 0).exit_code == 6
    table.write_csv(tmp_path / "some.csv")
    assert run("screen", "some.csv", "-t", "cost", "--check").exit_code == 0


def test_screen_agrees_with_its_own_table(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 5, size=(400, 14))
    survey = pl.DataFrame({f"q{j}": [f"level {a}" for a in answers[:, j]] for j in range(14)})
    survey = survey.with_columns(answer=pl.Series(answers[:, 3] < 2))
    survey.write_csv(tmp_path / "survey.csv")
    answer = _json(run("screen", "survey.csv", "-t", "answer", "--json"))
    adjusted = [row["pvalue_adjusted"] for row in answer["columns"]]
    assert answer["columns"][0]["column"] == "q3"
    assert answer["significant"] == sum(p <= 0.05 for p in adjusted) > 0
    assert answer["all_columns"] == {
        "pvalue": min(adjusted),
        "hsic": None,
        "method": "Simes",
        "rows": None,
    }


def test_screen_of_few_rows_and_many_columns(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60, 3000))
    target = pl.Series("cost", wide[:, 1] + 0.1 * rng.normal(size=60))
    frame = pl.from_numpy(wide, [f"x{j}" for j in range(3000)]).with_columns(target)
    frame.write_parquet(tmp_path / "wide.parquet")
    result = run("screen", "wide.parquet", "-t", "cost")
    assert "of 3,000 columns depends on the target" in result.stderr
    assert "no dependence was found" not in result.stderr


@pytest.mark.parametrize("rare", [False, True])
def test_screen_finds_what_columns_do_together(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rare: bool
) -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.choice([-1.0, 1.0], size=(3, 600)) * rng.uniform(0.8, 1.2, size=(3, 600))
    ill = (a * b > 0) if not rare else (a * b > 0) & (np.arange(600) % 4 == 0)
    frame = pl.DataFrame({"a": a, "b": b, "c": c, "ill": ill})
    frame.write_csv(tmp_path / "xor.csv")
    monkeypatch.setattr(import_module("depmax.cli.commands.screen"), "JOINT_ROWS", 200)
    answer = _json(run("screen", "xor.csv", "-t", "ill", "--json", "--seed", 0))
    assert answer["significant"] == 0
    assert answer["all_columns"]["pvalue"] < 0.05
    n_ill = int(ill.sum())
    assert answer["all_columns"]["rows"] == min(n_ill, 100) + 100  # each class has its part
    said = run("screen", "xor.csv", "-t", "ill", "--check", "--seed", 0)
    assert said.exit_code == 0
    assert "None of 3 columns was shown to depend on the target" in said.stderr
    assert "together they depend on the target" in said.stderr


def test_several_targets(run: Run, patients: Path) -> None:
    answer = _json(run("screen", patients, "-t", "cost", "-t", "age", "--json"))
    assert answer["target"] == {"columns": ["cost", "age"], "type": "multioutput"}
    assert "age" not in {row["column"] for row in answer["columns"]}


def test_select_finds_what_matters_together(run: Run, patients: Path, tmp_path: Path) -> None:
    result = run(
        "select", patients, "-t", "outcome", "-n", 2, "--drop", "cost", "-o", "few.parquet"
    )
    lines = _lines(result)
    assert {line[0] for line in lines if "yes" in line} == {"smoker", "age"}  # XOR of the two
    few = pl.read_parquet(tmp_path / "few.parquet")
    assert few.columns == ["age", "smoker", "outcome"]
    assert few["age"].equals(pl.read_csv(patients)["age"])  # in its own units
    assert few["smoker"].dtype == pl.Boolean


def test_select_names_redundant_columns(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(80, 4))
    values[:, 3] = values[:, 0] + 0.1 * values[:, 3]
    frame = pl.DataFrame(values, schema=["dose", "age", "noise", "dose again"])
    frame = frame.with_columns(cost=2 * frame["dose"] + frame["age"])
    frame.write_csv(tmp_path / "doses.csv")
    result = run("select", tmp_path / "doses.csv", "-t", "cost", "-n", 2, "--json")
    answer = _json(result)
    assert answer["redundant"] == {"dose": ["dose again"], "age": []}
    assert "Redundant with dose: dose again." in result.stderr
    assert "not similar to any selected column: 1." in result.stderr


def test_select_decides_how_many(run: Run, patients: Path) -> None:
    answer = _json(run("select", patients, "-t", "cost", "--json"))
    assert answer["selected"][0] == "age"
    assert len(answer["columns"]) == 5
    share = _json(run("select", patients, "-t", "cost", "-n", 0.4, "--json"))
    assert len(share["selected"]) == 2


def test_select_of_few_rows_does_not_contradict_its_pvalues(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(20, 6))
    values[:, 5] = 1.2 * values[:, 0] + rng.normal(size=20)
    pl.DataFrame(values, schema=[*"abcde", "y"]).write_csv(tmp_path / "few.csv")
    answer = run("select", tmp_path / "few.csv", "-t", "y")
    assert "a\t1\t" in answer.stdout
    said = "could not show on held-out rows that columns predict the target; a is kept as the best"
    assert f"KernelRidgeElimination {said}" in answer.stderr
    assert "found no column" not in answer.stderr
    assert "do not read anything into it" not in answer.stderr


def test_select_says_how_many_rows_are_searched(run: Run, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(300, 4))
    pl.DataFrame(values, schema=[*"abc", "y"]).write_csv(tmp_path / "long.csv")
    arguments = ("select", tmp_path / "long.csv", "-t", "y", "-n", 1)
    said = "KernelRidgeElimination searches 200 of 300 rows, drawn with a fixed seed"
    assert said in run(*arguments, "--set", "subsample=200").stderr
    assert said in run(*arguments, "--set", "subsample=200", "--screen", 2).stderr
    assert "searches" not in run(*arguments, "--set", "subsample=none").stderr
    fitted = ("fit", *arguments[1:], "-m", "KernelRidgeElimination", "-o", tmp_path / "m.skops")
    assert said in run(*fitted, "--set", "subsample=200").stderr


def test_select_auto_of_very_few_rows_names_the_remedy(run: Run, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(12, 4))
    pl.DataFrame(values, schema=[*"abc", "y"]).write_csv(tmp_path / "few.csv")
    refused = run("select", tmp_path / "few.csv", "-t", "y")
    assert refused.exit_code == 3
    assert "needs at least 20 rows, got 12: pass a number of columns" in refused.stderr


def test_select_says_that_nothing_was_found(run: Run, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(size=(80, 4))
    pl.DataFrame(noise, schema=["a", "b", "c", "y"]).write_csv(tmp_path / "noise.csv")
    arguments = ("select", tmp_path / "noise.csv", "-t", "y", "-m", "BAHSIC", "-n", "auto")
    assert "BAHSIC found no column of 3 that depends on the target; " in run(*arguments).stderr
    found = _json(run(*arguments, "--json"))
    assert found["significant"] == 0
    assert len(found["selected"]) == 1


@pytest.mark.parametrize("name", sorted(methods("selector")))
def test_every_selector_selects(run: Run, name: str) -> None:
    result = run("select", "bundled:wine", "-n", 3, "--method", name, "--json", "-q")
    assert len(_json(result)["selected"]) == 3


@pytest.mark.parametrize("name", sorted(methods("extractor")))
def test_every_extractor_is_fitted_and_used(run: Run, tmp_path: Path, name: str) -> None:
    assert run("datasets", "wine", "-o", "wine.parquet").exit_code == 0
    size = () if methods()[name].size is None else ("-n", 2)
    fitted = run("fit", "wine.parquet", "-t", "target", "--method", name, *size, "--seed", 0)
    assert fitted.exit_code == 0, fitted.output
    result = run("transform", "model.skops", "wine.parquet", "-o", "out.parquet")
    assert result.exit_code == 0, result.output
    assert pl.read_parquet(tmp_path / "out.parquet").height == 178


def test_settings(run: Run, patients: Path) -> None:
    answer = _json(
        run(
            *("select", patients, "-t", "cost", "-n", 2, "-m", "BAHSIC", "--json", "--no-scale"),
            *("--set", "kernel=laplace", "--set", "kernel__bandwidth=3", "--set", "step=1"),
        )
    )
    assert len(answer["selected"]) == 2


def _python(path: Path) -> Any:
    return depmax.load_model(path)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "feather"])
def test_fit_and_transform(run: Run, patients: Path, tmp_path: Path, suffix: str) -> None:
    fitted = run("fit", patients, "-t", "outcome", "--drop", "cost", "-n", 2, "-o", "m.skops")
    assert fitted.exit_code == 0, fitted.output
    out = tmp_path / f"out.{suffix}"
    result = run("transform", "m.skops", patients, "-o", out, "--keep", "id")
    assert result.exit_code == 0, result.output
    assert "80 rows written" in result.stderr
    readers = {"csv": pl.read_csv, "parquet": pl.read_parquet}
    if suffix == "tsv":
        features = pl.read_csv(out, separator="\t")
    else:
        features = readers.get(suffix, pl.read_ipc)(out)
    source = pl.read_csv(patients)
    assert features.equals(source.select("id", "age", "smoker"))


def test_kept_columns_that_are_near_copies(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    table.with_columns(years=pl.col("age").round(0)).write_csv(tmp_path / "twice.csv")
    words = ("select", "twice.csv", "-t", "cost", "-n", 2, "-m", "DependenceFilter")
    assert "DM006: " in run(*words).stderr
    assert "DM006" not in run(*words, "--ignore", "DM006").stderr


@pytest.mark.parametrize(
    "words",
    [("-m", "BAHSIC"), ("-m", "KernelRidgeElimination"), ("--given", "dose")],
    ids=["BAHSIC", "KernelRidgeElimination", "given"],
)
def test_what_is_long_is_said_first(
    run: Run, patients: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    command = "screen" if "--given" in words else "select"
    assert "takes about" not in run(command, patients, "-t", "cost", *words).stderr
    monkeypatch.setattr("depmax.cli.errors.LONG", 1e-6)  # as if it were
    result = run(command, patients, "-t", "cost", *words)
    assert result.exit_code == 0, result.output
    assert "takes about" in result.stderr


@pytest.fixture
def german(table: pl.DataFrame, tmp_path: Path) -> Path:
    """The table with semicolons and decimal commas."""
    path = tmp_path / "german.csv"
    numbers = pl.col(pl.Float64).cast(pl.String).str.replace(".", ",", literal=True)
    table.with_columns(numbers).write_csv(path, separator=";")
    return path


def _german(text: str) -> pl.DataFrame:
    return pl.read_csv(text.encode(), separator=";", decimal_comma=True)


def test_rows_go_to_standard_output_as_they_were_written(
    run: Run, fails: Callable[..., str], table: pl.DataFrame, german: Path
) -> None:
    """Only the rows; messages and tables for people stay out of them."""
    assert run("fit", german, "-t", "outcome", "--drop", "cost", "-n", 2).exit_code == 0
    result = run("transform", "model.skops", german, "-o", "-", "--keep", "id")
    assert result.exit_code == 0, result.output
    assert _german(result.stdout).equals(table.select("id", "age", "smoker"))
    assert "80 rows written: standard output" in result.stderr
    result = run("select", german, "-t", "cost", "-n", 1, "-o", "-")
    assert _german(result.stdout).equals(table.select("age", "cost"))
    assert "-o -" in fails(2, "select", german, "-t", "cost", "-o", "-", "--json")


def test_a_csv_has_the_marks_of_the_file_that_was_read(
    run: Run, table: pl.DataFrame, german: Path, tmp_path: Path
) -> None:
    for name, separator in (("few.csv", ";"), ("few.tsv", "\t")):
        assert run("select", german, "-t", "cost", "-n", 1, "-o", name).exit_code == 0
        text = (tmp_path / name).read_text()
        assert text.startswith(f"age{separator}cost\n")
        assert _german(text.replace(separator, ";")).equals(table.select("age", "cost"))


def test_a_column_of_a_type_that_the_output_lacks(
    run: Run, fails: Callable[..., str], patients: Path, tmp_path: Path
) -> None:
    assert run("fit", patients, "-t", "cost", "-n", 1, "-o", "m.skops").exit_code == 0
    frame = pl.read_csv(patients).with_columns(stay=pl.duration(days=3))
    frame.write_parquet(tmp_path / "new.parquet")
    line = fails(5, "transform", "m.skops", "new.parquet", "-o", "out.csv", "--keep", "stay")
    assert "Cannot write out.csv" in line
    assert not (tmp_path / "out.csv").exists()


def test_a_model_is_the_same_in_python(run: Run, patients: Path, tmp_path: Path) -> None:
    arguments = ("-t", "cost", "--method", "nystroem-map", "-n", 4, "--seed", 1, "-o", "m.skops")
    assert run("fit", patients, *arguments).exit_code == 0
    assert run("transform", "m.skops", patients, "-o", "out.parquet").exit_code == 0
    model = _python(tmp_path / "m.skops")
    source = pl.read_csv(patients).with_columns(pl.col("colour", "outcome").cast(pl.Categorical))
    expected = model.transform(source.select(model.feature_names_in_))
    written = pl.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_allclose(written.to_numpy(), expected.to_numpy())
    assert written.columns == [f"nystroemmap{j}" for j in range(4)]


@pytest.mark.parametrize("method", ["BAHSIC", "HBFE", "nystroem-map"])
def test_a_model_as_an_onnx_graph(run: Run, patients: Path, tmp_path: Path, method: str) -> None:
    import onnxruntime

    options = ("-t", "cost", "-m", method, "-n", 2, "--seed", 1, "--drop", "colour")
    options = (*options, "--drop", "outcome", "--drop", "smoker")
    for name in ("m.onnx", "m.skops"):
        fitted = run("fit", patients, *options, "-o", name)
        assert fitted.exit_code == 0, fitted.output
    assert run("transform", "m.skops", patients, "-o", "out.parquet").exit_code == 0
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    columns = json.loads(session.get_modelmeta().custom_metadata_map["columns"])
    rows = pl.read_csv(patients).select(columns).to_numpy().astype(np.float64)
    written = pl.read_parquet(tmp_path / "out.parquet").to_numpy()
    np.testing.assert_allclose(session.run(None, {"X": rows})[0], written, atol=1e-12)


def test_an_onnx_graph_takes_numbers_only(run: Run, patients: Path, tmp_path: Path) -> None:
    refused = run("fit", patients, "-t", "cost", "-o", "m.onnx")
    assert refused.exit_code == 3
    assert "colour, smoker, outcome" in refused.stderr
    assert "--drop" in refused.stderr
    assert not (tmp_path / "m.onnx").exists()


def test_models_of_python_are_used_too(run: Run, patients: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(patients)
    named = depmax.BAHSIC(1).fit(frame.select("dose", "age"), frame["cost"])
    depmax.save_model(named, tmp_path / "named.skops")
    assert run("transform", "named.skops", patients, "-o", "out.csv").exit_code == 0
    assert pl.read_csv(tmp_path / "out.csv").equals(frame.select("age"))
    depmax.save_model(
        depmax.BAHSIC(1).fit(frame.select("dose", "age").to_numpy(), frame["cost"]),
        tmp_path / "plain.skops",
    )
    frame.select("dose", "age").write_csv(tmp_path / "two.csv")
    assert run("transform", "plain.skops", "two.csv", "-o", "out.csv").exit_code == 0
    refused = run("transform", "plain.skops", patients, "-o", "out.csv")
    assert refused.exit_code == 4
    assert "takes 2 columns without names" in refused.stderr


def test_gaps_are_filled_in_new_rows_too(run: Run, table: pl.DataFrame, tmp_path: Path) -> None:
    gaps = table.with_columns(
        age=pl.when(pl.col("dose") == 2).then(None).otherwise(pl.col("age")),
        colour=pl.when(pl.col("dose") == 3).then(None).otherwise(pl.col("colour")),
    )
    gaps.write_csv(tmp_path / "gaps.csv")
    table.write_csv(tmp_path / "whole.csv")
    for data in ("gaps.csv", "whole.csv"):
        for method, fill in (("fohsic", ("--impute", "median")), ("fohsic", ()), ("hsca", ())):
            fitted = run("fit", data, "-t", "cost", "-m", method, "-n", 2, *fill)
            assert fitted.exit_code == 0, fitted.output
            assert run("transform", "model.skops", "gaps.csv", "-o", "out.csv").exit_code == 0
            n_gaps = sum(pl.read_csv(tmp_path / "out.csv").null_count().row(0))
            keeps = method == "fohsic" and not fill  # a selector keeps columns as they are
            assert (n_gaps > 0) == keeps


def test_a_model_that_knows_no_gaps_refuses_them(
    run: Run, table: pl.DataFrame, tmp_path: Path
) -> None:
    frame = table.select("age", "dose")
    depmax.save_model(depmax.HSCA(1).fit(frame, table["cost"]), tmp_path / "plain.skops")
    frame.with_columns(age=pl.lit(None, pl.Float64)).write_csv(tmp_path / "gaps.csv")
    refused = run("transform", "plain.skops", "gaps.csv", "-o", "out.csv")
    assert refused.exit_code == 3
    assert "missing values in 'age'" in refused.stderr


def test_unknown_types_need_trust(run: Run, patients: Path, tmp_path: Path) -> None:
    from depmax.maps import NystroemMap
    from tests.persistence.test_persistence import twice

    frame = pl.read_csv(patients).select("age", "dose")
    depmax.save_model(NystroemMap(2, kernel=twice).fit(frame), tmp_path / "own.skops")
    refused = run("transform", "own.skops", patients, "-o", "out.csv")
    assert refused.exit_code == 4
    name = f"{twice.__module__}.twice"
    assert name in refused.stderr
    trusted = run("transform", "own.skops", patients, "-o", "out.csv", "--trust", name)
    assert trusted.exit_code == 0, trusted.output


def test_methods(run: Run) -> None:
    rows = {row["method"]: row for row in _json(run("methods", "--json"))["methods"]}
    assert rows["BAHSIC"]["role"] == "selector"
    assert rows["NystroemMap"]["role"] == "extractor"
    assert "kernel" in rows["BAHSIC"]["parameters"]
    assert "FeatureMap" not in rows
    assert rows["LDA"]["role"] == "extractor"
    assert rows["correlation filter"]["role"] == "selector"


def test_datasets(run: Run, tmp_path: Path) -> None:
    listed = _lines(run("datasets"))
    assert ["bundled:wine", "178", "13", "target", "Wine"] in listed
    about = _json(run("datasets", "sonar", "--json"))["about"]
    assert any("CC BY" in row["value"] for row in about)
    assert run("datasets", "wine", "-o", "wine.csv").exit_code == 0
    assert pl.read_csv(tmp_path / "wine.csv").shape == (178, 14)
    assert run("datasets", "-o", "wine.csv").exit_code == 2


def test_completion_of_names() -> None:
    from depmax.cli import options

    def complete(alias: Any, typed: str) -> list[str]:
        (info,) = alias.__metadata__
        return info.autocompletion(typed)

    assert complete(options.Selector, "bah") == ["BAHSIC"]
    assert "NystroemMap" in complete(options.Method, "")
    assert complete(options.DatasetName, "son") == ["sonar"]


def test_tables_for_people(run: Run, patients: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from depmax.cli.output import Output

    monkeypatch.setattr(Output, "on_terminal", property(lambda self: not self.as_json))
    result = run("screen", patients, "-t", "cost", "--top", 2)
    assert "█" in result.stdout
    assert "… and 3 more" in result.stdout
    assert "of 5 columns depend on the target" in result.stdout
    kept = run("select", patients, "-t", "cost", "-n", 2)
    assert " no " not in kept.stdout


def test_columns_that_do_not_fit_are_named(
    run: Run, patients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from depmax.cli.output import Output

    monkeypatch.setattr(Output, "on_terminal", property(lambda self: not self.as_json))
    assert "No room for" not in run("screen", patients, "-t", "cost").stdout
    monkeypatch.setenv("COLUMNS", "50")
    assert "No room for: p (adjusted), p. Widen" in run("screen", patients, "-t", "cost").stdout
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("methods").stdout.splitlines()
    assert any("BAHSIC" in line and "selector" in line and "…" in line for line in lines)
    header = run("profile", patients, "--drop", "cost").stdout
    assert "note" not in header.split()  # no column repeats another
    assert "values" in header.split()


def test_the_joint_test_says_the_same_every_time(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(20, 4)), schema=list("abcd"))
    frame.with_columns(y=pl.Series(["yes", "no"] * 10)).write_csv(tmp_path / "few.csv")
    answers = [
        _json(run("screen", "few.csv", "-t", "y", "--json", *seed))
        for seed in ((), (), ("--seed", 0))
    ]
    assert answers[0]["all_columns"]["method"] == "permutation test"
    assert answers[0] == answers[1] == answers[2]


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from depmax.cli import main

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "skops" else name)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert capsys.readouterr().err == (
        "error: the command line needs skops: pip install 'depmax[cli]'\n"
    )


def test_minus_one_is_a_class_and_rows_without_a_target_are_said(run: Run, tmp_path: Path) -> None:
    """The same model whatever the classes are called; the -1 are not unlabelled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    classes = X[:, 0].argsort().argsort() // 20
    found = []
    for name, labels in (("minus", classes - 1), ("plain", classes)):
        pl.DataFrame({"p": X[:, 0], "q": X[:, 1], "t": labels}).write_csv(tmp_path / f"{name}.csv")
        model = tmp_path / f"{name}.skops"
        result = run("fit", tmp_path / f"{name}.csv", "-t", "t", "-m", "HBFE", "-o", model)
        assert result.exit_code == 0, result.output
        found.append(load_model(model)[-1])
    assert found[0].n_unlabeled_ == 0
    np.testing.assert_allclose(found[0].components_, found[1].components_)
    gaps = pl.Series([None if row < 5 else int(label) for row, label in enumerate(classes)])
    pl.DataFrame({"p": X[:, 0], "q": X[:, 1], "t": gaps}).write_csv(tmp_path / "gaps.csv")
    result = run("fit", tmp_path / "gaps.csv", "-t", "t", "-m", "HBFE", "-o", tmp_path / "g.skops")
    assert "Rows without a target are ignored: 5 of 60" in result.output


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Thirty patients with four visits each; a class per patient that nothing depends on."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 4)
    columns = {f"x{j}": rng.normal(size=30)[patient] + 0.3 * rng.normal(size=120) for j in range(4)}
    labels = rng.permutation(np.where(np.arange(30) % 2, "ill", "well"))[patient]
    frame = pl.DataFrame({"patient": [f"p{number}" for number in patient], **columns, "y": labels})
    frame.write_csv(tmp_path / "visits.csv")
    return tmp_path / "visits.csv"


def test_groups_of_rows(run: Run, visits: Path) -> None:
    plain = _json(run("screen", visits, "-t", "y", "--drop", "patient", "--json", "-q"))
    grouped = run("screen", visits, "-t", "y", "--groups", "patient", "--json", "--seed", 0)
    assert "30 groups of rows by 'patient', which is not used as a column" in grouped.stderr
    answer = _json(grouped)
    assert {row["column"] for row in answer["columns"]} == {"x0", "x1", "x2", "x3"}
    assert answer["significant"] == 0 < plain["significant"]
    assert answer["all_columns"]["pvalue"] > plain["all_columns"]["pvalue"]
    options = ("--groups", "patient", "--given", "x0", "--json", "-q")
    given = _json(run("screen", visits, "-t", "y", *options))
    assert {row["column"] for row in given["columns"]} == {"x1", "x2", "x3"}
    assert given["significant"] == 0
    chosen = run("select", visits, "-t", "y", "--groups", "patient", "-m", "DependenceFilter")
    assert chosen.exit_code == 0
    assert "found no column of 4 that depends on the target" in chosen.stderr
    compared = run(
        *("compare", visits, "-t", "y", "--groups", "patient", "-m", "PCA", "--n-jobs", 1),
        *("--folds", 3, "--dimensions", "1,2", "--json", "--report", visits.with_name("r.html")),
    )
    answer = _json(compared)  # noise of patients: there is nothing to fit
    assert answer["verdict"]["outcome"] in ("nothing", "too few rows")
    assert "next" not in answer


def test_too_many_columns_for_permutations_are_named(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(40), 2)
    X = rng.normal(size=(40, 550))[patient]
    names = [f"x{j}" for j in range(550)]
    table = pl.DataFrame(X, schema=names).with_columns(patient=patient, y=X[:, 0])
    table.write_csv(tmp_path / "wide.csv")
    said = run("screen", "wide.csv", "-t", "y", "--groups", "patient", "--n-jobs", 1).stderr
    assert "no p-value below 0.0001, which is too large for one of 550 columns" in said
    few = [word for name in names[60:] for word in ("--drop", name)]
    said = run("screen", "wide.csv", "-t", "y", "--groups", "patient", "--n-jobs", 1, *few).stderr
    assert "1 of 60 columns depends" in said


def test_bad_groups_are_refused_by_name(run: Run, visits: Path, tmp_path: Path) -> None:
    def message(*arguments: Any) -> str:
        result = run(*arguments)
        assert result.exit_code not in (0, 1)
        return str(result.stderr)

    assert "named by both --target and --groups" in message(
        "screen", visits, "-t", "y", "--groups", "y"
    )
    assert "no column named 'patien'" in message("screen", visits, "-t", "y", "--groups", "patien")
    assert "HSICLasso has no p-values" in message(
        "select", visits, "-t", "y", "--groups", "patient", "-m", "HSICLasso", "-n", 2
    )
    frame = pl.read_csv(visits).with_columns(
        pl.when(pl.col("x0") > 0).then(pl.col("patient")).alias("patient")
    )
    frame.write_csv(tmp_path / "gaps.csv")
    assert "'patient' has no value in" in message(
        "screen", tmp_path / "gaps.csv", "-t", "y", "--groups", "patient"
    )


def test_a_column_that_holds_the_target_is_pointed_out(
    run: Run, table: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "leak.csv"
    codes = {"ill": "J45", "well": "Z00"}
    table.with_columns(diagnosis=pl.col("outcome").replace(codes)).write_csv(path)
    result = run("screen", path, "-t", "outcome", "--drop", "cost")
    assert "Check diagnosis: by itself it tells nearly everything about outcome." in result.output
    answer = _json(run("screen", path, "-t", "outcome", "--drop", "cost", "--json"))
    assert answer["gives_away"] == ["diagnosis"]
    dropped = run("screen", path, "-t", "outcome", "--drop", "cost", "--drop", "diagnosis")
    assert "Check " not in dropped.output


@pytest.mark.parametrize("command", [("screen",), ("select", "-n", "2", "-m", "DependenceFilter")])
def test_copies_of_rows_are_pointed_out(
    run: Run, table: pl.DataFrame, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = tmp_path / "copies.csv"
    few = table.drop("id", "name", "cost").head(30)
    pl.concat([few] * 5).with_row_index("visit").write_csv(path)
    name, *options = command
    result = run(name, path, "-t", "outcome", *options)
    assert "note: DM001: 120 of 150 rows" in result.output
    grouped = run(name, path, "-t", "outcome", "--groups", "age", *options)
    assert "DM001" not in grouped.output


@pytest.mark.parametrize("target", [("-t", "y"), ()], ids=["target", "no target"])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        *(("screen", option) for option in ("--given", "--groups", "--weight", "--drop", "--keep")),
        *(("select", option) for option in ("--groups", "--weight", "--drop", "--keep")),
        *(("compare", option) for option in ("--groups", "--drop", "--keep")),
        *(("fit", option) for option in ("--weight", "--drop", "--keep")),
    ],
)
def test_a_misspelt_column_is_named_before_anything_else_is_said(
    run: Run, tmp_path: Path, command: str, option: str, target: tuple[str, ...]
) -> None:
    lines = [f"n{row},{row % 7},{row % 2}" for row in range(40)]
    (tmp_path / "data.csv").write_text("\n".join(["name,a,y", *lines]))
    output = ("-o", "model.skops") if command == "fit" else ()
    found = run(command, "data.csv", *target, option, "namee", *output)
    assert found.stderr.startswith(f"error: {option}: data.csv has no column named 'namee'")
    assert "Did you mean name?" in found.stderr


def test_cautions_are_listed_and_silenced_by_code(
    run: Run, fails: Callable[..., str], table: pl.DataFrame, tmp_path: Path
) -> None:
    codes = [row["code"] for row in _json(run("cautions", "--json"))["cautions"]]
    assert codes == list(CAUTIONS)
    table.vstack(table).write_csv(tmp_path / "twice.csv")
    arguments = ("screen", "twice.csv", "-t", "outcome", "--drop", "id", "--drop", "name")
    assert "DM001: 80 of 160 rows" in run(*arguments).stderr
    silent = run(*arguments, "--ignore", "dm001")
    assert silent.exit_code == 0
    assert "DM001" not in silent.stderr
    assert "DM404" in fails(2, *arguments, "--ignore", "DM404")
