"""scikit-learn's own checks, for every map that is exported, without exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from depmax import maps
from depmax.maps import FeatureMap

EXPORTED = [getattr(maps, name) for name in maps.__all__]
MAPS = [part for part in EXPORTED if issubclass(part, FeatureMap) and part is not FeatureMap]


@parametrize_with_checks([part() for part in MAPS])
def test_scikit_learn(estimator, check):
    check(estimator)
