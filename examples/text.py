"""Text.

Which words tell news about grain from other news? scikit-learn turns the texts into a sparse matrix
of thousands of terms; `BAHSIC` with the linear kernel ranks them without ever making it dense. The
texts are from Reuters, 1,554 to learn from and 604 to test on, one in fourteen about grain.

The figures below are of the real data, `reuters_grain_text`. Without them the script makes up rows
of the same kind and says so.

The F1 score on the test texts against the number of words that a linear classifier may read, on a
logarithmic axis; the dashed line is all words.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import external, save
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from depmax import BAHSIC

news = external("reuters_grain_text")
train, test = slice(0, 1554), slice(1554, None)
terms = TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english")
X_train, X_test = terms.fit_transform(news.X[train]), terms.transform(news.X[test])
words = terms.get_feature_names_out()
print(f"{X_train.shape[0]} texts, {X_train.shape[1]} terms, {X_train.nnz} cells that are not zero")

select = BAHSIC(1, kernel="linear", interactions=None).fit(X_train, news.y[train])
order = np.argsort(select.ranking_)  # one fit ranks all terms
print("the first words: " + ", ".join(words[order[:15]]))

sizes = [1, 2, 5, 10, 20, 50, 100, 200, len(words)]
scores = []
for size in sizes:
    kept = np.sort(order[:size])
    model = LinearSVC(class_weight="balanced").fit(X_train[:, kept], news.y[train])
    scores.append(f1_score(news.y[test], model.predict(X_test[:, kept])))
    print(f"{size:6} words: F1 on the test texts {scores[-1]:.2f}")

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.plot(sizes[:-1], scores[:-1], marker="o")
axis.axhline(scores[-1], linestyle="--", color="#8a929c", label=f"all {len(words)} words")
axis.set(xscale="log", xlabel="words kept by BAHSIC", ylabel="F1", ylim=(0, 1))
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
save(figure, "text")
