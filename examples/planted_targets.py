"""
How far can these rows be trusted?
==================================

A selector returns columns from any table, also where there are too few rows to find the right ones.
:func:`~depmax.evaluation.planted_recovery` makes targets of known columns of *your* table, as hard
to predict as the real one, and counts which of these columns are found.
"""

# %%
# Ultrasound or rock? 60 frequency bands of 208 sonar echoes, two selectors.
import warnings

from depmax import compare
from depmax.datasets import load

warnings.filterwarnings("ignore", message="DM002")  # neighbours are alike: see the screening page
sonar = load("sonar").to_frame()
target = sonar.pop("target")
methods = ["BAHSIC", "HSIC filter"]
found = compare(sonar, target, methods, cv=5, dimensions=[1, 3, 5], planted=True, random_state=0)
print(found.verdict.headline)

# %%
# The answer in one sentence. It holds for these rows: their number, their noise, and how alike the
# bands are.
print(found.planted)

# %%
# By selector and shape. A filter judges each column alone, so it cannot see a product of two;
# what it keeps instead is grey.
import matplotlib.pyplot as plt

found.planted.plot()
plt.show()

# %%
# With a quarter of the rows, the same score says much less about which columns matter.
few = sonar.iloc[::4], target.iloc[::4]
fewer = compare(*few, methods, cv=5, dimensions=[1, 3, 5], planted=True, random_state=0)
print(fewer.planted)
