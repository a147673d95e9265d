"""Names of models: which factor a block has, what is learned under, which test conditional."""

import numpy as np
import pytest

from sklearn_sgp.engines.blocks.models import NAMES, conditioned_name, specification
from sklearn_sgp.factors.block_factors import Mixture, Model
from sklearn_sgp.gp.posterior import ExactConditional, FICConditional, SoRConditional
from sklearn_sgp.predict.near_rows import LocalConditional

BOUND = Model("diagonal", 0.0)
TABLE = {
    "sor": (Model("none"), BOUND, SoRConditional),
    "dtc": (Model("none"), BOUND, ExactConditional),
    "vfe": (BOUND, BOUND, ExactConditional),
    "fitc": (Model("diagonal"), Model("diagonal"), ExactConditional),
    "fic": (Model("diagonal"), Model("diagonal"), FICConditional),
    "pitc": (Model("full"), Model("full"), ExactConditional),
    "pic": (Model("full"), Model("full"), LocalConditional),
    "lma": (Model("conditioned"), Model("conditioned"), LocalConditional),
    "vif": (Model("conditioned"), Model("conditioned"), LocalConditional),
}


@pytest.mark.parametrize("name", TABLE)
def test_names_are_those_of_the_table(name):
    """Each name stands for a factor, an objective and a test conditional, and no other is known."""
    assert specification(name, 1.0) == TABLE[name]
    assert set(TABLE) == NAMES


@pytest.mark.parametrize("name", ["fitc", "fic", "pitc"])
def test_the_power_is_that_of_the_factors(name):
    """alpha goes into model and objective, and leaves the test conditional."""
    found = specification(name, 0.3)
    residual = TABLE[name][0].residual
    assert found == (Model(residual, 0.3), Model(residual, 0.3), TABLE[name][2])


@pytest.mark.parametrize("name", ["sor", "dtc", "vfe", "pic"])
def test_a_power_needs_factors_that_take_one(name):
    """Other models refuse a power other than 1."""
    with pytest.raises(ValueError, match=f"'alpha_divergence' parameter.*0.5 for '{name}'"):
        specification(name, 0.5)


def test_a_mixture_keeps_its_weights():
    """Models and weights stay together; DTC is learned under the bound within a mixture too."""
    found = specification([("dtc", 0.25), ("fitc", 0.75)], 1.0)
    assert found.model == Mixture(((Model("none"), 0.25), (Model("diagonal"), 0.75)))
    assert found.objective == Mixture(((BOUND, 0.25), (Model("diagonal"), 0.75)))
    assert found.conditional is ExactConditional


def test_a_model_that_comes_twice_is_one():
    """Weights of one and the same factor are added, and a factor that is alone is no mixture."""
    assert specification([("pitc", 0.4), ("pitc", 0.6)], 1.0) == specification("pitc", 1.0)
    found = specification([("dtc", 0.5), ("vfe", 0.5)], 1.0)
    assert found.model == Mixture(((Model("none"), 0.5), (BOUND, 0.5)))
    assert found.objective == BOUND


@pytest.mark.parametrize(
    ("pairs", "alpha"),
    [
        ([("fitc", 0.5), ("fic", 0.5)], 1.0),
        ([("fitc", 0.5), ("pitc", np.inf)], 1.0),
        ([("lma", 0.5), ("fitc", 0.5)], 1.0),
        ([("fitc", 0.5), ("pitc", 0.5)], 0.5),
        ([("fitc", 0.5), ("svgp", 0.5)], 1.0),
        ([("fitc", "most"), ("pitc", 0.5)], 1.0),
        ([("fitc", 10**400)], 1.0),
        (["fitc", "pitc"], 1.0),
        ([], 1.0),
        (3, 1.0),
    ],
)
def test_mixtures_that_cannot_be(pairs, alpha):
    """A mixture needs known names, finite weights, one test conditional and alpha 1."""
    with pytest.raises(ValueError, match="'model' parameter must be one of"):
        specification(pairs, alpha)


def test_a_mixture_knows_the_rows_of_one_model():
    """LMA or VIF mixes with PIC, and says which rows are near; both at once cannot be."""
    found = specification([("pic", 0.3), ("lma", 0.7)], 1.0)
    assert found.model.conditioned and found.uses_near_rows
    assert conditioned_name([("pic", 0.3), ("lma", 0.7)]) == "lma"
    assert conditioned_name("vif") == "vif"
    assert conditioned_name([("fitc", 1.0)]) is conditioned_name("pic") is None
    with pytest.raises(ValueError, match="must have one of 'lma' and 'vif' at most"):
        specification([("vif", 0.5), ("lma", 0.5)], 1.0)
