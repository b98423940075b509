"""
DNA strings
===========

Rows do not have to be vectors. Here they are 106 pieces of DNA, 57 letters each, and the question
is whether a gene starts there (a promoter).
"""

# %%
import numpy as np

from depmax.datasets import load

dna = load("promoters")
print(dna.X[0], dna.y[0])
print(dna.X[-1], dna.y[-1])

# %%
# :class:`~depmax.kernels.Subsequence` compares two strings by the subsequences they share, gaps
# allowed; :class:`~depmax.kernels.Spectrum` by their common pieces. :class:`~depmax.HSCA` then
# turns every string into two numbers, which any scikit-learn classifier accepts.
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline

from depmax import HSCA, hsic_test
from depmax.kernels import Spectrum, Subsequence

kernels = {
    "pieces of 3 letters": Spectrum(3),
    "subsequences of 4, with gaps": Subsequence(4, decay=0.5),
}
splits = ShuffleSplit(10, test_size=0.3, random_state=0)
for name, kernel in kernels.items():
    test = hsic_test(dna.X, dna.y, kernel=kernel, random_state=0)
    model = make_pipeline(HSCA(2, kernel=kernel), LogisticRegression())
    accuracy = cross_val_score(model, dna.X, dna.y, cv=splits).mean()
    print(f"{name:30} p = {test.pvalue:.3f}, accuracy {accuracy:.2f} on held-out strings")

# %%
# The two features: training strings faint, held-out strings in full colour.
import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from depmax.plotting import FeatureScatterDisplay

rows = np.arange(len(dna.y))
train, held_out = train_test_split(rows, test_size=0.3, stratify=dna.y, random_state=0)
features = HSCA(2, kernel=Subsequence(4)).fit(dna.X[train], dna.y[train]).transform(dna.X)
FeatureScatterDisplay.from_predictions(
    features, dna.y, held_out=np.isin(rows, held_out), target_name="promoter"
).plot()
plt.show()
