"""Doctests see the modules that everything else sees, whichever files pytest is given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Files that their package imports: pytest alone would run each a second time.
FILES = ["src/depmax/data/scan.py", "src/depmax/data/sample.py"]
#: A plugin that looks at the modules after collection.
PLUGIN = """
import sys

def pytest_collection_finish(session):
    import depmax
    from depmax import data
    from depmax.data.sample import Sample
    assert callable(depmax.scan)
    assert data.Scan is sys.modules["depmax.data.scan"].Scan
    assert Sample is sys.modules["depmax.data.sample"].Sample
"""


def test_a_module_is_imported_once(tmp_path: Path) -> None:
    (tmp_path / "look_at_modules.py").write_text(PLUGIN)
    options = ["-q", "-p", "look_at_modules", "--collect-only", *FILES]
    code = (
        f"import sys, pytest; sys.path.insert(0, {str(tmp_path)!r}); "
        f"raise SystemExit(pytest.main({options!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
