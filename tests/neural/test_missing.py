"""Without torch depmax works, and depmax.neural says what to install."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import depmax
sys.modules["torch"] = None  # as if it were not installed
try:
    import depmax.neural
except ImportError as error:
    print(error)
"""


def test_the_extra_is_named():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert "pip install 'depmax[neural]'" in done.stdout


def test_depmax_does_not_load_torch():
    code = "import sys, depmax; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_tables_of_neural_features_name_it_too():
    code = """
import sys
from reproduction import tables
table = tables()["thesis_neural"]
sys.modules["torch"] = None
try:
    table.run(quick=True)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'depmax[neural]'" in done.stdout
