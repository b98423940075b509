"""
More columns than rows
======================

Which positions of a piece of DNA tell that a gene starts there? 106 rows and 57 positions with four
letters each, so 228 columns of zeros and ones: more columns than rows, as with genes or spectra.
Three questions: is there anything to find, which columns matter together, and would other rows have
named the same ones?
"""

# %%
# Positions are counted from the start of the gene, -1 just before it and 1 its first letter.
import pandas as pd

from depmax.datasets import load

dna = load("promoters")
letters = pd.DataFrame([list(row) for row in dna.X], columns=[*range(-50, 0), *range(1, 8)])
X = pd.get_dummies(letters, prefix_sep=" ", dtype=float).rename(columns=str)
print(X.shape)

# %%
# :func:`~depmax.screen` tests every column and adjusts the p-values for their number.
from depmax import screen

screening = screen(X, dna.y).to_frame()
significant = screening["pvalue_adjusted"] <= 0.05
print(f"{significant.sum()} of {len(screening)} columns (false discovery rate 5%)")
screening[significant].sort_values("score", ascending=False).head(8)

# %%
# :class:`~depmax.BAHSIC` looks at columns together and drops the least useful ones step by step.
from depmax import BAHSIC

select = BAHSIC(10, kernel="linear").fit(X, dna.y)
print(", ".join(select.get_feature_names_out()))

# %%
# :func:`~depmax.evaluation.stability` repeats the selection on samples of 80% of the rows: 1 means
# always the same ten columns, 0 no more overlap than by chance.
from depmax.evaluation import stability

found = stability(BAHSIC(10, kernel="linear"), X, dna.y, n_resamples=30, random_state=0)
print(f"stability {found.value:.2f}")

# %%
# How often each position was chosen. The two groups are what molecular biologists know as the -35
# and the -10 box.
import matplotlib.pyplot as plt

often = pd.Series(found.frequencies, index=[int(name.split()[0]) for name in X.columns])
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.bar(letters.columns, often.groupby(level=0).sum(), color="#0b6e99")
axis.set(xlabel="position relative to the start of the gene", ylabel="letters chosen, on average")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
