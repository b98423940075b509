"""Several labels per row.

Web pages of Yahoo's arts directory belong to one or more of 26 categories. `HBFE` looks for
directions in the 462 term frequencies on which pages with similar *sets* of labels lie together (a
linear kernel on the labels), and ML-kNN predicts all labels from these features. PCA, which does
not know the labels, and all columns are the yardsticks.

The figures below are of the real data, `yahoo_arts`. Without them the script makes up rows of the
same kind and says so.

Average precision on the test pages against the number of features: HBFE and PCA, and all columns
as a dashed line.
"""

import matplotlib.pyplot as plt
from gallery import external, save
from sklearn.decomposition import PCA

from depmax import HBFE
from depmax.evaluation import MLkNN, average_precision, one_error

pages = external("yahoo_arts")
X_train, Y_train = pages.X[:2000], pages.y[:2000]
X_test, Y_test = pages.X[2000:3500], pages.y[2000:3500]


def judge(train, test):
    """Average precision and one-error of ML-kNN."""
    scores = MLkNN().fit(train, Y_train).predict_proba(test)
    return average_precision(Y_test, scores), one_error(Y_test, scores)


precision, error = judge(X_train, X_test)
print(f"{X_train.shape[0]} pages, {Y_train.shape[1]} labels")
print("features              average precision   one-error")
print(f"all {X_train.shape[1]:<18}{precision:17.3f}{error:12.3f}")
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.axhline(precision, linestyle="--", color="#8a929c", label="all columns")
sizes = [2, 5, 10, 20]
for name, method in {"HBFE": HBFE(20), "PCA": PCA(20, random_state=0)}.items():
    method.fit(X_train, Y_train)
    train, test = method.transform(X_train), method.transform(X_test)
    found = [judge(train[:, :size], test[:, :size]) for size in sizes]
    for size, (precision, error) in zip(sizes, found, strict=True):
        print(f"{name:6}{size:4}{'':12}{precision:17.3f}{error:12.3f}")
    axis.plot(sizes, [precision for precision, _ in found], marker="o", label=name)
axis.set(xlabel="features", ylabel="average precision", xticks=sizes)
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
save(figure, "multi_label")
