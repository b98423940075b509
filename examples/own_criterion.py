"""
A criterion of your own
=======================

:class:`~depmax.DeflationFeatures` finds directions one after another and removes what each
explains. Which direction comes next is up to you: a function of what is left of the data decides.

PLS takes the direction of largest covariance with the target. If one target in ten is a typing
error, covariance follows the errors. The criterion below uses the *ranks* of the target, which an
error can move only so far.
"""

# %%
# A criterion is a function of the residual: ``left_target`` is what is left of the target, and
# ``pull`` multiplies with what is left of X, transposed.
from scipy.stats import rankdata


def by_ranks(residual):
    """Direction of largest covariance with the ranks of what is left of the target."""
    ranks = rankdata(residual.left_target, axis=0)
    return residual.pull(ranks - ranks.mean(axis=0))[:, 0]


# %%
# Diabetes progression of 442 patients (comes with scikit-learn). We learn from 60 patients,
# multiply a tenth of their targets by a factor, and compare the first feature with the true target
# of the others: means over 20 splits.
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from depmax import DeflationFeatures

X, y = load_diabetes(return_X_y=True)


def correlation(criterion, factor, seed):
    """Correlation of the first feature with the true target on held-out patients."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=60, random_state=seed)
    wrong = np.random.default_rng(seed).random(len(y_train)) < 0.1
    y_train[wrong] *= factor
    feature = DeflationFeatures(1, criterion=criterion).fit(X_train, y_train).transform(X_test)
    return abs(np.corrcoef(feature[:, 0], y_test)[0, 1])  # the sign of a feature is arbitrary


factors = [1, 3, 10, 30, 100]
found = {
    name: [np.mean([correlation(criterion, f, seed) for seed in range(20)]) for f in factors]
    for name, criterion in {"PLS": "pls", "ranks": by_ranks}.items()
}
print("error by a factor of " + "".join(f"{factor:8}" for factor in factors))
for name, values in found.items():
    print(f"{name:20} " + "".join(f"{value:8.2f}" for value in values))

# %%
# The criterion of ranks keeps its correlation, whatever the size of the errors.
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, values in found.items():
    axis.plot(factors, values, marker="o", label=name)
axis.set(xscale="log", xlabel="factor of the errors", ylabel="correlation", ylim=(0, 1))
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
