"""scikit-learn's own checks, without exceptions, for the filters and the published comparisons."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from depmax.selection.dependence_filter import DependenceFilter
from depmax.selection.r2w2 import R2W2
from depmax.selection.relief import Relief
from depmax.selection.zero_norm_svm import ZeroNormSVM


@parametrize_with_checks(
    [DependenceFilter(), DependenceFilter(score_func="pearson"), Relief(), ZeroNormSVM(), R2W2()]
)
def test_scikit_learn(estimator, check):
    check(estimator)
