"""Every inference answers what its protocol asks, by the same names of arguments."""

from inspect import getattr_static, isfunction, signature

import pytest

from sklearn_sgp.engines.variational.base import (
    Inference,
    LearningInference,
    MinibatchInference,
)
from sklearn_sgp.engines.variational.class_regressions import RegressionInference
from sklearn_sgp.engines.variational.inference import ConjugateInference, SiteInference
from sklearn_sgp.engines.variational.multi_output import CoregionalisedInference

# What the protocol has, and a class may lack: a bound by sums where there is a closed form, and
# densities where default kernels are compared.
MAY_LACK = {SiteInference: {"bound"}, CoregionalisedInference: {"densities"}}


@pytest.mark.parametrize(
    ("made", "protocol"),
    [
        (ConjugateInference, MinibatchInference),
        (SiteInference, MinibatchInference),
        (CoregionalisedInference, Inference),
        (RegressionInference, LearningInference),
    ],
)
def test_an_inference_answers_its_protocol(made, protocol):
    """Methods have the arguments that the protocol names, in its order."""
    asked = {name for name in dir(protocol) if not name.startswith("_")}
    asked = {name for name in asked if isfunction(getattr_static(protocol, name))}
    missing = {name for name in asked if not hasattr(made, name)}
    assert missing == MAY_LACK.get(made, set())
    for name in asked - missing:
        own = list(signature(getattr(made, name)).parameters)
        static = isinstance(getattr_static(made, name), staticmethod)
        assert own == list(signature(getattr(protocol, name)).parameters)[static:]
