"""
Spectra
=======

How much fat is in a piece of meat, read from its near-infrared spectrum at 100 wavelengths?
Neighbouring wavelengths say nearly the same, so we look for directions, not for single columns.
"""

# %%
# 215 samples, measured on a Tecator Infratec Food and Feed Analyzer.
import numpy as np
from sklearn.model_selection import train_test_split

from depmax.datasets import load

meat = load("tecator")
X_train, X_test, y_train, y_test = train_test_split(meat.X, meat.y, test_size=65, random_state=0)

# %%
# A linear regression on the features predicts the fat. Kernel PLS is nonlinear with a Gaussian
# kernel; sparse maximal alignment (:class:`~depmax.SMA`) uses one training spectrum per direction;
# PLS from scikit-learn is the baseline. The ridge ``alpha`` of :class:`~depmax.HSCA` leaves out
# directions of little variance; as it goes to zero, HSCA with a linear kernel of the target
# approaches PLS.
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from depmax import HSCA, SMA, KernelPLS
from depmax.evaluation import NumericTarget

methods = {
    "PLS (scikit-learn)": lambda size: NumericTarget(PLSRegression(size, scale=False)),
    "KernelPLS": lambda size: KernelPLS(size),
    "KernelPLS, Gaussian": lambda size: KernelPLS(size, kernel="gaussian"),
    "HSCA": lambda size: HSCA(size, target_kernel="linear"),
    "HSCA, alpha=1e-10": lambda size: HSCA(size, target_kernel="linear", alpha=1e-10),
    "SMA": lambda size: SMA(size, kernel="linear", n_candidates=None),
}
sizes = [1, 2, 5, 10, 15]
print("test error as a share of the variance of the fat (1: no better than the mean)")
print(f"{'directions':20}" + "".join(f"{size:8}" for size in sizes))
for name, make in methods.items():
    errors = []
    for size in sizes:
        model = make_pipeline(make(size), LinearRegression()).fit(X_train, y_train)
        errors.append(np.mean((model.predict(X_test) - y_test) ** 2) / y_test.var())
    print(f"{name:20}" + "".join(f"{error:8.3f}" for error in errors))

# %%
# The weights of the first two directions show which part of the spectrum they read.
import matplotlib.pyplot as plt

from depmax.plotting import LoadingsDisplay

figure, axis = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
model = HSCA(2, target_kernel="linear").fit(X_train - X_train.mean(axis=0), y_train)
LoadingsDisplay.from_estimator(model, positions=np.linspace(850, 1050, 100), ax=axis)
axis.set_xlabel("wavelength (nm)")
plt.show()
