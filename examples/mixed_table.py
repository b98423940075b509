"""A table of numbers and categories.

The census table has ages and hours beside occupations and marital states. Nothing needs to be
encoded: with a Gaussian kernel in which a category that differs adds to the distance, `BAHSIC`
ranks all columns together, each kept or dropped as a whole.

The figures below are of the real data, `adult`. Without them the script makes up rows of the same
kind and says so.

HSIC of each column alone with the income, with adjusted p-values; the columns that BAHSIC keeps
are in colour.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from gallery import external, save
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from depmax import BAHSIC, UnseenCategoryWarning, screen
from depmax.evaluation import PrepareColumns
from depmax.plotting import RankingDisplay

table = external("adult").to_frame()
y = table.pop("target")
table = table.drop(columns=["fnlwgt", "education-num"])  # a survey weight; education once more
text = table.select_dtypes(exclude="number").columns
table[text] = table[text].astype(str).astype("category")  # what is unknown ("?") is a level too
chosen = np.random.default_rng(0).permutation(len(table))
train, test = chosen[:800], chosen[800:4800]

screening = screen(table.iloc[train], y.iloc[train])
prepare = PrepareColumns().fit(table.iloc[train])  # numbers on one scale, categories as they are
select = BAHSIC(5).fit(prepare.transform(table.iloc[train]), y.iloc[train])
print(select.to_frame().head(7).to_string(index=False))

# Some rare levels, such as most countries, are in the test rows only: they equal no other row.
warnings.simplefilter("ignore", UnseenCategoryWarning)
kept = list(table.columns[select.get_support()])
for name, columns in {"5 columns": kept, "all columns": list(table.columns)}.items():
    model = make_pipeline(PrepareColumns(encode=True), SVC(class_weight="balanced"))
    model.fit(table.iloc[train][columns], y.iloc[train])
    right = [
        (model.predict(table.iloc[test][columns]) == y.iloc[test])[y.iloc[test] == level].mean()
        for level in y.unique()
    ]
    print(f"{name:12} balanced accuracy on 4,000 other people {np.mean(right):.3f}")

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
RankingDisplay.from_predictions(
    screening.scores,
    names=list(table.columns),
    pvalues_adjusted=screening.pvalues_adjusted,
    kept=select.get_support(),
    label="HSIC of the column alone with the income",
    ax=axis,
)
save(figure, "mixed_table")
