"""``depmax profile``."""

import json


def test_profile_prints_writes_a_page_and_needs_no_target(run, patients, tmp_path):
    result = run("profile", patients)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[0].startswith("column\tkind\t")
    assert "9 columns" in result.stderr
    page = (tmp_path / "profile.html").read_text()
    assert "Every column by itself" in page
    assert "ward" in page


def test_profile_as_json_names_copies(run, tmp_path):
    file = tmp_path / "messy.csv"
    lines = [f"{i * i % 97},5;{i % 7};{i * i % 97},5" for i in range(60)]
    file.write_text("\n".join(["a;b;c", *lines]).replace(",", ","))
    result = run("profile", file, "--json", "--report", "page.html", "--drop", "b")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["copied_columns"] == {"c": "a"}
    assert [column["column"] for column in found["columns"]] == ["a", "c"]
    assert found["report"].endswith("page.html")


def test_profile_refuses_what_does_not_exist(fails, patients):
    assert "colour" in fails(3, "profile", patients, "--drop", "color")
