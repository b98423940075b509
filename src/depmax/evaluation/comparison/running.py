"""All trials of a comparison, in parallel, with progress, and what is finished if stopped."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from depmax.evaluation.comparison.methods import Method
from depmax.evaluation.comparison.progress import Listener, Progress
from depmax.evaluation.comparison.setting import Setting
from depmax.evaluation.comparison.trial import Trial, run_trial


def run_trials(
    methods: Sequence[Method],
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    X: Any,
    y: np.ndarray,
    setting: Setting,
    *,
    n_jobs: int | None,
    listener: Listener,
) -> tuple[list[Trial], bool]:
    """Every method on every split, and whether all of them were run.

    The splits come one after the other, all methods on each, so that an interruption (Ctrl-C)
    leaves methods that were tried on the same splits.
    """
    started = perf_counter()
    total = len(methods) * len(splits)
    trials: list[Trial] = []
    tasks = (
        delayed(run_trial)(method, number, parts, X, y, setting)
        for number, parts in enumerate(splits)
        for method in methods
    )
    results = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(tasks)
    try:
        for trial in results:
            trials.append(trial)
            listener(Progress(len(trials), total, perf_counter() - started, trial.method))
    except KeyboardInterrupt:
        return trials, False
    finally:
        results.close()
    return trials, True
