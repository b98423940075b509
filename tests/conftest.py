"""What every test may ask for."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of the test's own: its data do not depend on which tests ran before it.

    The seed differs from those of the data that modules make, which must not be drawn again.
    """
    return np.random.default_rng(20_120_615)
