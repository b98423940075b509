"""Your own kernel.

A kernel is any function that takes two sets of rows and returns the matrix of similarities. Every
measure, selector and extractor takes it where it takes a name.

Here the hour of the day decides: calls come in around midnight. For the usual kernels 23:30 and
0:30 are as far apart as can be. A kernel on the circle knows that they are neighbours, and one
feature of HSCA with it is enough. (A class with a bandwidth that is read off the data takes
fifteen lines more: [CONTRIBUTING.md](../../CONTRIBUTING.md#add-a-kernel).)

The one feature that HSCA finds, against the hour: with the linear kernel a straight line, with
the kernel on the circle a bump around midnight.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import save
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from depmax import HSCA, hsic_test
from depmax.testing import check_kernel


def circle(X, Z):
    """Similarity of hours on a clock of 24."""
    return np.exp(-2 * np.sin(np.pi * (X[:, [0]] - Z[:, 0]) / 24) ** 2)


rng = np.random.default_rng(0)
hour = rng.uniform(0, 24, size=(300, 1))
midnight = np.minimum(hour[:, 0], 24 - hour[:, 0])  # hours to the nearest midnight
busy = np.where(rng.random(300) < 0.1 + 0.8 * (midnight < 3), "busy", "quiet")

check_kernel(circle, hour[:50])  # symmetric, positive semi-definite, consistent
print("is the kernel a kernel? yes")

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, kernel in {"linear": "linear", "on the circle": circle}.items():
    test = hsic_test(hour, busy, kernel=kernel, random_state=0)
    model = make_pipeline(HSCA(1, kernel=kernel), LogisticRegression(class_weight="balanced"))
    score = cross_val_score(model, hour, busy, scoring="balanced_accuracy").mean()
    print(f"{name:14} p = {test.pvalue:.3f}   balanced accuracy of one feature {score:.2f}")
    clock = np.linspace(0, 24, 200)[:, np.newaxis]
    feature = HSCA(1, kernel=kernel).fit(hour, busy).transform(clock)[:, 0]
    axis.plot(clock, feature / np.abs(feature).max(), label=name)
axis.set(xlabel="hour of the day", ylabel="feature", xticks=range(0, 25, 4))
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
save(figure, "own_kernel")
