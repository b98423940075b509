"""DNA strings.

Rows need not be vectors. Here they are 106 pieces of DNA, 57 letters each, and the question is
whether a gene starts there (a promoter). The `Subsequence` kernel compares two strings by the
subsequences of four letters that they share, gaps allowed. HSCA then makes two numbers of every
string, which any scikit-learn classifier takes.

The two HSCA features of the strings that were held out, in full, and of those it was fitted on,
faint.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import save
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from depmax import HSCA, hsic_test
from depmax.datasets import load
from depmax.kernels import Spectrum, Subsequence
from depmax.plotting import FeatureScatterDisplay

dna = load("promoters")
print(f"{dna.title}: {len(dna.y)} strings, such as\n  {dna.X[0]} {dna.y[0]}")

kernels = {
    "pieces of 3 letters": Spectrum(3),
    "subsequences of 4, gaps allowed": Subsequence(4, decay=0.5),
}
for name, kernel in kernels.items():
    test = hsic_test(dna.X, dna.y, kernel=kernel, random_state=0)
    scores = []
    for seed in range(10):
        parts = train_test_split(dna.X, dna.y, test_size=0.3, stratify=dna.y, random_state=seed)
        X_train, X_test, y_train, y_test = parts
        model = make_pipeline(HSCA(2, kernel=kernel), LogisticRegression()).fit(X_train, y_train)
        scores.append(model.score(X_test, y_test))
    print(f"{name:32} HSIC p = {test.pvalue:.3f}, accuracy {np.mean(scores):.2f} (10 splits)")

rows = np.arange(len(dna.y))
train, held_out = train_test_split(rows, test_size=0.3, stratify=dna.y, random_state=0)
features = HSCA(2, kernel=Subsequence(4)).fit(dna.X[train], dna.y[train]).transform(dna.X)
figure, axis = plt.subplots(figsize=(5.5, 4), layout="constrained")
FeatureScatterDisplay.from_predictions(
    features, dna.y, held_out=np.isin(rows, held_out), target_name="promoter", ax=axis
)
save(figure, "promoters")
