"""
What does a column do?
======================

A ranking says that a column matters, not how. :class:`~depmax.plotting.TargetByColumnDisplay` draws
the target along it, in the units of the target: its mean among rows with similar values, or the
share of a class, with 95% intervals.
"""

# %%
# Who earns more than 50,000 dollars, in a census? A selector keeps four of nine columns; numbers,
# categories and empty cells need no encoding.
import numpy as np

from depmax import KernelRidgeElimination, Prepare
from depmax.datasets import load

left_out = ["fnlwgt", "education-num", "relationship", "capital-gain", "capital-loss"]
people = load("adult_sample").to_frame().drop(columns=left_out)
income = people.pop("target")
rows = np.random.default_rng(0).permutation(len(people))[:1000]
select = KernelRidgeElimination(4)
select.fit(Prepare(None).fit_transform(people.iloc[rows]), income.iloc[rows])
print(", ".join(select.get_feature_names_out()))

# %%
# What they do, on the rows that did not choose them: columns look a little too strong on the rows
# that chose them. The dashed line is the share among all rows. A level with few rows has a wide
# interval, and rows without a value are a group of their own.
import matplotlib.pyplot as plt

from depmax.plotting import TargetByColumnDisplay

others = np.setdiff1d(np.arange(len(people)), rows)
figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for place, axis in enumerate(axes.flat):
    TargetByColumnDisplay.from_estimator(
        select, people.iloc[others], income.iloc[others], place=place, ax=axis
    )
plt.show()

# %%
# The same numbers, for a table. For a numeric target they are means, here the hours per week.
display = TargetByColumnDisplay.from_predictions(
    people["age"], people["hours-per-week"].astype(float), name="age", target_name="hours per week"
)
for group, (mean, low, high) in enumerate(
    zip(display.means[0], display.low[0], display.high[0], strict=True)
):
    print(f"age near {display.place(group)}: {mean:.1f} hours ({low:.1f} to {high:.1f})")
