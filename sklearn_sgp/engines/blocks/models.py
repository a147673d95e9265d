"""The models of the family by name: which factor a block has, and which test conditional.

Hoang et al. (2015), table 1, and remark 2 for mixtures; docs/theory.md, section 9.
"""

from typing import NamedTuple

import numpy as np

from ...factors.block_factors import Mixture, Model
from ...gp.posterior import ExactConditional, FICConditional, SoRConditional
from ...predict.near_rows import LocalConditional

_VARIATIONAL = Model("diagonal", 0.0)
# Name: residual that a factor keeps, its power, and the test conditional.
_MODELS = {
    "sor": ("none", 1.0, SoRConditional),
    "dtc": ("none", 1.0, ExactConditional),
    "vfe": ("diagonal", 0.0, ExactConditional),
    "fitc": ("diagonal", 1.0, ExactConditional),
    "fic": ("diagonal", 1.0, FICConditional),
    "pitc": ("full", 1.0, ExactConditional),
    "pic": ("full", 1.0, LocalConditional),
    "lma": ("conditioned", 1.0, LocalConditional),
    "vif": ("conditioned", 1.0, LocalConditional),
}
NAMES = set(_MODELS)
_POWERS = {"fitc", "fic", "pitc"}


class Specification(NamedTuple):
    """Factors and test conditional that a name stands for.

    Parameters
    ----------
    model : Model or Mixture
        Of the posterior.
    objective : Model or Mixture
        Learned under: the variational bound for SoR and DTC, whose own marginal overfits.
    conditional : class
        Of test rows given u: one of gp/conditionals.py, or `LocalConditional`.
    """

    model: Model | Mixture
    objective: Model | Mixture
    conditional: type

    @property
    def uses_near_rows(self):
        """True if predictions use training rows beside the inducing inputs."""
        return self.conditional is LocalConditional

    @property
    def alpha(self):
        """Power of a row's factor, 0 where that keeps no residual."""
        model = self.model.components[0][0]
        return 0.0 if model.residual == "none" else model.alpha


def specification(model, alpha):
    """Return the specification of a name, or of pairs of a name and a weight.

    Parameters
    ----------
    model : str or sequence of (str, float)
    alpha : float
        Power of the factors.

    Raises
    ------
    ValueError
        If the parameters do not go together.
    """
    if not isinstance(model, str):
        return _mixture(model, alpha)
    if alpha != 1.0 and model not in _POWERS:
        raise ValueError(
            "The 'alpha_divergence' parameter must be 1 unless the model is one of "
            f"{sorted(_POWERS)}. Got {alpha!r} for {model!r}."
        )
    residual, power, conditional = _MODELS[model]
    made = Model(residual, power * float(alpha))
    return Specification(made, _objective(made), conditional)


def _objective(model):
    return _VARIATIONAL if model.residual == "none" else model


def _mixture(pairs, alpha):
    try:
        named = [(_MODELS[name], float(share)) for name, share in pairs]
    except (TypeError, ValueError, KeyError):
        named = []
    conditionals = {conditional for (_, _, conditional), _ in named}
    total = sum(share for _, share in named)
    conditioned = any(residual == "conditioned" for (residual, _, _), _ in named)
    if len(conditionals) != 1 or conditioned or not np.isclose(total, 1.0) or alpha != 1.0:
        raise ValueError(
            f"The 'model' parameter must be one of {sorted(NAMES)}, or pairs of a name and a "
            "weight with one test conditional and weights that sum to 1, with alpha_divergence=1 "
            f"and without 'lma' and 'vif'. Got {pairs!r}."
        )
    models = [(Model(residual, power), share) for (residual, power, _), share in named]
    objectives = [(_objective(model), share) for model, share in models]
    return Specification(_combined(models), _combined(objectives), conditionals.pop())


def _combined(models):
    """Return a mixture in which no model comes twice; the model itself where it is alone."""
    shares = {}
    for model, share in models:
        shares[model] = shares.get(model, 0.0) + share
    return next(iter(shares)) if len(shares) == 1 else Mixture(tuple(shares.items()))
