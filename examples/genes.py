"""Genes.

2,000 gene intensities of 62 pieces of colon, 40 of them tumours: far more columns than rows. First,
is there anything to find, and in how many genes (`screen`, adjusted over all genes)? Then, which
ten genes matter together (`BAHSIC`)? And would another sample of patients have named the same ones
(`stability`)?

The figures below are of the real data, `colon`. Without them the script makes up rows of the same
kind and says so.

How often BAHSIC chose a gene, over 20 samples of 80 % of the patients: the genes chosen most
often.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import external, save
from sklearn.preprocessing import StandardScaler

from depmax import BAHSIC, screen
from depmax.evaluation import stability

colon = external("colon")
genes = np.log(colon.to_frame()[list(colon.feature_names)])
X = StandardScaler().set_output(transform="pandas").fit_transform(genes)
names = np.array(colon.feature_names)

screening = screen(X, colon.y)
print(f"{np.sum(screening.pvalues_adjusted <= 0.05)} of {len(names)} genes depend on the tissue")
print("(false discovery rate 5 %)\n")

select = BAHSIC(10, kernel="linear").fit(X, colon.y)
print(select.to_frame().head(10).to_string(index=False))

found = stability(BAHSIC(10, kernel="linear"), X, colon.y, n_resamples=20, random_state=0)
print(f"\nstability {found.value:.2f} (1: always the same ten, 0: as if by chance);")
often = np.argsort(-found.frequencies)[:15]
print(f"{np.sum(found.frequencies >= 0.8)} genes are chosen in at least 80 % of the samples")

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
axis.barh(names[often][::-1], found.frequencies[often][::-1], color="#0b6e99")
axis.set(xlabel="share of the samples in which the gene was chosen", xlim=(0, 1))
axis.spines[["top", "right"]].set_visible(False)
save(figure, "genes")
