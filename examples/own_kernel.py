"""
A kernel of your own
====================

A kernel is any function that takes two sets of rows and returns the matrix of their similarities.
Every measure, selector and extractor accepts it in place of a name.

Suppose calls come in around midnight. For the usual kernels, 23:30 and 0:30 are as far apart as two
times can be. A kernel on the circle treats them as neighbours, and then a single feature is enough.
"""

# %%
# Made-up data: the hour of 300 observations, and whether the line was busy.
import numpy as np

rng = np.random.default_rng(0)
hour = rng.uniform(0, 24, size=(300, 1))
to_midnight = np.minimum(hour[:, 0], 24 - hour[:, 0])
busy = np.where(rng.random(300) < 0.1 + 0.8 * (to_midnight < 3), "busy", "quiet")


# %%
# The kernel. :func:`~depmax.testing.check_kernel` verifies that it is symmetric, positive
# semidefinite and consistent.
from depmax.testing import check_kernel


def circle(X, Z):
    """Similarity of hours on a 24-hour clock."""
    return np.exp(-2 * np.sin(np.pi * (X[:, [0]] - Z[:, 0]) / 24) ** 2)


check_kernel(circle, hour[:50])

# %%
# In a test of dependence, and as the kernel of :class:`~depmax.HSCA`, which builds one feature.
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from depmax import HSCA, hsic_test

kernels = {"linear": "linear", "on the circle": circle}
for name, kernel in kernels.items():
    test = hsic_test(hour, busy, kernel=kernel, random_state=0)
    model = make_pipeline(HSCA(1, kernel=kernel), LogisticRegression(class_weight="balanced"))
    score = cross_val_score(model, hour, busy, scoring="balanced_accuracy").mean()
    print(f"{name:14} p = {test.pvalue:.3f}   balanced accuracy of one feature {score:.2f}")

# %%
# The feature over the day: a straight line with the linear kernel, a bump around midnight with the
# kernel on the circle. (A class whose bandwidth is estimated from the data takes fifteen more
# lines: see :doc:`Contributing </project/contributing>`.)
import matplotlib.pyplot as plt

clock = np.linspace(0, 24, 200)[:, np.newaxis]
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, kernel in kernels.items():
    feature = HSCA(1, kernel=kernel).fit(hour, busy).transform(clock)[:, 0]
    axis.plot(clock, feature / np.abs(feature).max(), label=name)
axis.set(xlabel="hour of the day", ylabel="feature", xticks=range(0, 25, 4))
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
