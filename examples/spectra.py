"""Spectra.

How much sugar is in orange juice, read off its near-infrared spectrum: 700 wavelengths, 150 juices
to learn from and 68 to test on. The columns are neighbours of each other, so directions, not single
wavelengths, are what to look for. HSCA, kernel PLS and sparse maximal alignment (SMA, one training
spectrum per direction) find them; PLS of scikit-learn is the yardstick. Where columns repeat each
other as here, the small regularisation `alpha` of HSCA matters: it keeps directions of little
variance out, which on these juices hold the sugar; as it goes to zero HSCA with a linear kernel of
the target is PLS. A linear regression on the features predicts the sugar.

The figures below are of the real data, `orange_juice_nir`. Without them the script makes up rows of
the same kind and says so.

Weights of the first two HSCA directions over the wavelengths: which parts of the spectrum they
read.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import external, save
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from depmax import HSCA, SMA, KernelPLS
from depmax.evaluation import NumericTarget
from depmax.plotting import LoadingsDisplay

juice = external("orange_juice_nir")
train, test = slice(0, 150), slice(150, None)
mean = juice.X[train].mean(axis=0)
X_train, X_test = juice.X[train] - mean, juice.X[test] - mean
y_train, y_test = juice.y[train], juice.y[test]

methods = {
    "PLS (scikit-learn)": lambda size: NumericTarget(PLSRegression(size, scale=False)),
    "HSCA": lambda size: HSCA(size, target_kernel="linear"),
    "HSCA, alpha=1e-10": lambda size: HSCA(size, target_kernel="linear", alpha=1e-10),
    "KernelPLS, linear": lambda size: KernelPLS(size),
    "KernelPLS, Gaussian": lambda size: KernelPLS(size, kernel="gaussian"),
    "SMA, linear": lambda size: SMA(size, kernel="linear", n_candidates=None),
    "SMA, Gaussian": lambda size: SMA(size, n_candidates=None),
}
sizes = [1, 2, 5, 10, 15]
print(
    "error on the test juices, as a share of the target's variance (1 is no better than the mean)"
)
print(f"{'directions':20}" + "".join(f"{size:8}" for size in sizes))
for name, make in methods.items():
    errors = []
    for size in sizes:
        model = make_pipeline(make(size), LinearRegression()).fit(X_train, y_train)
        errors.append(np.mean((model.predict(X_test) - y_test) ** 2) / y_test.var())
    print(f"{name:20}" + "".join(f"{error:8.3f}" for error in errors))

wavelengths = np.linspace(1100, 2500, 700)  # nanometres
figure, axis = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
model = HSCA(2, target_kernel="linear").fit(X_train, y_train)
LoadingsDisplay.from_estimator(model, positions=wavelengths, ax=axis)
axis.set_xlabel("wavelength (nm)")
save(figure, "spectra")
