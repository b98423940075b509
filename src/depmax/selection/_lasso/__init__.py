"""The path of HSIC-Lasso: kernels of columns, products of them, a nonnegative path."""
