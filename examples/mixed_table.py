"""
Numbers, categories and missing cells
=====================================

A census table has ages and working hours beside occupations and marital states, and some cells are
empty. Nothing needs to be encoded by hand: selectors rank all columns together and keep or drop a
categorical column as a whole.
"""

# %%
# 5,000 people; the target is whether they earn more than 50,000 dollars. A survey weight and a
# second copy of the education are dropped.
from sklearn.model_selection import train_test_split

from depmax.datasets import load

table = load("adult_sample").to_frame().drop(columns=["fnlwgt", "education-num"])
y = table.pop("target")
X_train, X_test, y_train, y_test = train_test_split(
    table, y, train_size=1000, stratify=y, random_state=0
)
table.head(3).T

# %%
# :class:`~depmax.Prepare` puts numbers on one scale and marks text as categories.
# :class:`~depmax.KernelRidgeElimination` then keeps five columns; an empty cell counts as neither
# near nor far from any other.
from depmax import KernelRidgeElimination, Prepare

prepare = Prepare(None).fit(X_train)
select = KernelRidgeElimination(5).fit(prepare.transform(X_train), y_train)
kept = list(select.get_feature_names_out())
print(", ".join(kept))

# %%
# How much accuracy do five of twelve columns keep?
import warnings

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline

from depmax import UnseenCategoryWarning

warnings.simplefilter("ignore", UnseenCategoryWarning)  # rare countries are in the test rows only
for name, columns in {"five columns": kept, "all columns": list(table.columns)}.items():
    trees = HistGradientBoostingClassifier(class_weight="balanced", random_state=0)
    model = make_pipeline(Prepare(None, encode=True), trees)
    predicted = model.fit(X_train[columns], y_train).predict(X_test[columns])
    print(f"{name}: balanced accuracy {balanced_accuracy_score(y_test, predicted):.3f}")

# %%
# What each column says about the income *alone*, with the kept columns in colour.
import matplotlib.pyplot as plt

from depmax import screen
from depmax.plotting import RankingDisplay

screening = screen(prepare.transform(X_train), y_train)
RankingDisplay.from_predictions(
    screening.scores,
    names=list(table.columns),
    pvalues_adjusted=screening.pvalues_adjusted,
    kept=select.get_support(),
    label="HSIC of the column alone with the income",
).plot()
plt.show()
