"""The models of the family by name: which factor a block has, and which test conditional.

Hoang et al. (2015), table 1, and remark 2 for mixtures; docs/theory.md, section 9.
"""

from typing import NamedTuple

import numpy as np

from ...factors.block_factors import Mixture, Model
from ...factors.own_model import BlockModel, OwnModel
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
# What a model of one's own may predict as, and be learned as.
_CONDITIONALS, _OBJECTIVES = ("sor", "dtc", "fic", "pic"), ("vfe", "fitc", "pitc")


class Specification(NamedTuple):
    """Factors and test conditional that a name stands for.

    Parameters
    ----------
    model : Model or Mixture
        Of the posterior.
    objective : Model or Mixture
        Learned under: the variational bound for SoR and DTC, whose own marginal overfits.
    conditional : class
        Of test rows given u: one of gp/posterior.py, or `LocalConditional`.
    """

    model: Model | Mixture
    objective: Model | Mixture
    conditional: type

    @property
    def uses_near_rows(self):
        """True if predictions use training rows beside the inducing inputs."""
        return self.conditional is LocalConditional

    @property
    def learns_by_bound(self):
        """True if the objective is a lower bound of the evidence of the exact process."""
        return self.objective == _VARIATIONAL

    @property
    def alpha(self):
        """Power of the factor that a row has alone; None where it has several, or one unknown."""
        is_alone = isinstance(self.model, Model) and not self.model.dense
        return self.model.power if is_alone else None


def names_with(*residuals):
    """List the names of models whose factors keep one of these residuals."""
    return [name for name, (residual, *_) in _MODELS.items() if residual in residuals]


def specification(model, alpha):
    """Return the specification of a name, of a model of one's own, or of pairs of one and a weight.

    ``alpha`` is the power of the factors.
    """
    if not isinstance(model, str | BlockModel):
        return _mixture(model, alpha)
    if alpha != 1.0 and model not in _POWERS:
        raise ValueError(
            "The 'alpha_divergence' parameter must be 1 unless the model is one of "
            f"{sorted(_POWERS)}. Got {alpha!r} for {model!r}."
        )
    made, conditional = _named(model, alpha)
    return _checked(Specification(made, _objective(made), conditional), model)


def conditioned_name(model):
    """Return which of "lma" and "vif" a parameter is or mixes, or None."""
    pairs = [(model,)] if isinstance(model, str | BlockModel) else model
    names = [pair[0] for pair in pairs if isinstance(pair, list | tuple) and pair]
    return next((name for name in names_with("conditioned") if name in names), None)


def _named(model, alpha=1.0):
    """Return the model and the test conditional that a name or a model of one's own stands for."""
    if not isinstance(model, BlockModel):
        residual, power, conditional = _MODELS[model]
        return Model(residual, power * float(alpha)), conditional
    for name, known in (("test_conditional", _CONDITIONALS), ("learned_as", _OBJECTIVES)):
        if getattr(model, name) not in known:
            raise ValueError(
                f"The attribute '{name}' of a model must be one of {sorted(known)}. Got "
                f"{getattr(model, name)!r} for {type(model).__name__}."
            )
    return OwnModel(model), _MODELS[model.test_conditional][2]


def _objective(model):
    if isinstance(model, OwnModel):
        return _named(model.own.learned_as)[0]
    return _VARIATIONAL if model.residual == "none" else model


def _mixture(pairs, alpha):
    try:
        shares = [(name, float(share)) for name, share in pairs]
    except (TypeError, ValueError, OverflowError):
        shares = []
    if not all(isinstance(one, BlockModel) or one in NAMES for one, _ in shares):
        shares = []
    named = [(*_named(one), share) for one, share in shares]
    conditionals = {conditional for _, conditional, _ in named}
    n_dense = len({model for model, *_ in named if model.dense and not model.conditioned})
    finite = all(np.isfinite(share) for *_, share in named)
    if len(conditionals) != 1 or not finite or alpha != 1.0:
        raise ValueError(
            f"The 'model' parameter must be one of {sorted(NAMES)}, a BlockModel, or pairs of one "
            "and a finite weight with one test conditional, with alpha_divergence=1. Got "
            f"{pairs!r}."
        )
    if set(names_with("conditioned")) <= {name for name, _ in shares if isinstance(name, str)}:
        raise ValueError(
            "A mixture must have one of 'lma' and 'vif' at most, whose blocks are not the same. "
            f"Got both in {pairs!r}: leave out one."
        )
    if n_dense > 1:
        raise ValueError(
            "A mixture must have one model at most whose blocks keep their full covariance. Got "
            f"{n_dense} in {pairs!r}: leave out all but one."
        )
    models = [(model, share) for model, _, share in named]
    objectives = [(_objective(model), share) for model, share in models]
    found = Specification(_combined(models), _combined(objectives), conditionals.pop())
    return _checked(found, pairs)


def _checked(found, model):
    """Return a specification; models of independent rows keep no blocks to predict from."""
    if found.uses_near_rows and not found.model.dense:
        raise ValueError(
            "A model with test_conditional='pic' must have full_covariance=True, alone or beside "
            "one that has it: it predicts from rows of blocks. Got full_covariance=False in "
            f"{model!r}: set it to True, or take another test_conditional."
        )
    return found


def _combined(models):
    """Return a mixture in which no model comes twice; the model itself where it is alone."""
    shares = {}
    for model, share in models:
        shares[model] = shares.get(model, 0.0) + share
    alone = len(shares) == 1 and np.isclose(next(iter(shares.values())), 1.0)
    return next(iter(shares)) if alone else Mixture(tuple(shares.items()))
