"""
Which columns depend on the target?
===================================

:func:`~depmax.screen` gives every column a score and a p-value, both from a nonlinear measure of
dependence. Here: 60 frequency bands of a sonar, and whether it hit a mine or a rock.
"""

# %%
# One call screens all columns. The p-values are adjusted for having looked at 60 of them. Echoes
# follow each other by the angle of the sonar, and depmax warns that neighbours are alike, which
# makes p-values too small. Like everybody who uses this set, we take them as independent here.
import warnings

import numpy as np

from depmax import screen
from depmax.datasets import load

warnings.filterwarnings("ignore", message="DM002")
sonar = load("sonar")
screening = screen(sonar.to_frame()[list(sonar.feature_names)], sonar.y)
screening.to_frame().sort_values("score", ascending=False).head(8)

# %%
# How many bands depend on the target, and how many would a linear score have found? A linear kernel
# on standardised columns is the squared correlation.
X = (sonar.X - sonar.X.mean(axis=0)) / sonar.X.std(axis=0)
found = {
    name: screen(X, sonar.y, kernel=kernel)
    for name, kernel in {"Laplace kernel": "laplace", "linear kernel": "linear"}.items()
}
for name, result in found.items():
    print(f"{name}: {np.sum(result.pvalues_adjusted <= 0.05)} of 60 bands")

# %%
# The two agree on the strong bands and differ on some of the weak ones.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True, layout="constrained")
bands = np.arange(1, 61)
for axis, (name, result) in zip(axes, found.items(), strict=True):
    kept = result.pvalues_adjusted <= 0.05
    axis.bar(bands[kept], result.scores[kept], color="#0b6e99", label="adjusted p ≤ 0.05")
    axis.bar(bands[~kept], result.scores[~kept], color="#c9ced6", label="not significant")
    axis.set_title(f"{name}: {kept.sum()} bands", loc="left", fontsize=10)
    axis.set_ylabel("HSIC")
    axis.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, fontsize=9)
axes[1].set_xlabel("sonar band")
plt.show()

# %%
# Is there any dependence at all, in all columns together? And how many rows would have been enough
# to show it?
from depmax import hsic_interval, hsic_test, samples_needed

test = hsic_test(sonar.X, sonar.y, random_state=0)
interval = hsic_interval(sonar.X, sonar.y)
print(f"p = {test.pvalue:.3g}; HSIC between {interval.low:.4f} and {interval.high:.4f} (95%)")
print(f"about {samples_needed(sonar.X, sonar.y)} rows are enough four times out of five")
