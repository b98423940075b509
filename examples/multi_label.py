"""
Several labels per row
======================

A row may have several labels. Here, images of handwritten digits have five yes-or-no properties.
:class:`~depmax.HBFE` looks for directions in which images with similar *sets* of labels lie close
together, and ML-kNN predicts all labels from these features.
"""

# %%
# Digits of scikit-learn, 8 × 8 pixels, and their labels.
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, digit = load_digits(return_X_y=True)
labels = {
    "even": [0, 2, 4, 6, 8],
    "prime": [2, 3, 5, 7],
    "has a loop": [0, 6, 8, 9],
    "has a straight stroke": [1, 4, 5, 7],
    "five or more": [5, 6, 7, 8, 9],
}
Y = np.column_stack([np.isin(digit, members) for members in labels.values()]).astype(int)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, train_size=900, random_state=0)

# %%
# PCA, which does not look at the labels, and all 64 pixels are the baselines.
from sklearn.decomposition import PCA

from depmax import HBFE
from depmax.evaluation import MLkNN, average_precision, one_error


def judge(train, test):
    """Average precision and one-error of ML-kNN."""
    scores = MLkNN().fit(train, Y_train).predict_proba(test)
    return average_precision(Y_test, scores), one_error(Y_test, scores)


all_pixels = judge(X_train, X_test)
print("features   average precision   one-error")
print(f"all     64 {all_pixels[0]:17.3f}{all_pixels[1]:12.3f}")
sizes = [1, 2, 3, 4, 5]
found = {}
for name, method in {"HBFE": HBFE(5), "PCA": PCA(5, random_state=0)}.items():
    method.fit(X_train, Y_train)
    train, test = method.transform(X_train), method.transform(X_test)
    found[name] = [judge(train[:, :size], test[:, :size]) for size in sizes]
    for size, (precision, error) in zip(sizes, found[name], strict=True):
        print(f"{name:6}{size:4} {precision:17.3f}{error:12.3f}")

# %%
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.axhline(all_pixels[0], linestyle="--", color="#8a929c", label="all 64 pixels")
for name, values in found.items():
    axis.plot(sizes, [precision for precision, _ in values], marker="o", label=name)
axis.set(xlabel="features", ylabel="average precision", xticks=sizes)
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
