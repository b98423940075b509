"""
Text
====

Which words tell a good review from a bad one? scikit-learn turns 3,000 sentences into a sparse
matrix of words; :class:`~depmax.BAHSIC` with the linear kernel ranks them without ever making it
dense.
"""

# %%
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from depmax.datasets import load

reviews = load("sentences")
train, test, y_train, y_test = train_test_split(
    reviews.X, reviews.y, test_size=1000, stratify=reviews.y, random_state=0
)
terms = TfidfVectorizer(min_df=3, sublinear_tf=True)
X_train, X_test = terms.fit_transform(train), terms.transform(test)
print(f"{X_train.shape[0]} sentences, {X_train.shape[1]} words, {X_train.nnz} cells are not zero")

# %%
# One fit ranks all words.
import numpy as np

from depmax import BAHSIC

select = BAHSIC(1, kernel="linear", interactions=None).fit(X_train, y_train)
order = np.argsort(select.ranking_)
print(", ".join(terms.get_feature_names_out()[order[:16]]))

# %%
# How well does a linear classifier do with the first words alone?
from sklearn.svm import LinearSVC

sizes = [1, 2, 5, 10, 20, 50, 100, 200, 500, X_train.shape[1]]
scores = []
for size in sizes:
    kept = np.sort(order[:size])
    scores.append(LinearSVC().fit(X_train[:, kept], y_train).score(X_test[:, kept], y_test))
    print(f"{size:5} words: accuracy {scores[-1]:.2f} on 1,000 other sentences")

# %%
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.plot(sizes[:-1], scores[:-1], marker="o")
axis.axhline(scores[-1], linestyle="--", color="#8a929c", label=f"all {sizes[-1]} words")
axis.set(xscale="log", xlabel="words kept by BAHSIC", ylabel="accuracy", ylim=(0.5, 1))
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
