"""What the estimators in blocks ask of their engine."""

from ..engines.blocks.models import conditioned_name, specification
from ..engines.blocks.schedules import Average, RobbinsMonro
from ..engines.blocks.state import BlockPlan
from ..likelihoods._names import (
    REGRESSION,
    has_log_density,
    regression_likelihood,
    takes_row_precisions,
)
from ..partitions.blocks import NeighboursChoice
from ..partitions.chains import ChainChoice
from ..partitions.partition import PartitionChoice
from .fit import Fit
from .validation import rows_of_weight

_OF_FEATURES = ("sor", "dtc", "vfe")
# Rows of a group of "vif": half as many as its neighbours, so that factorisations serve many rows.
_LEAST_GROUP = 30


def chosen_model(model):
    """Return the name of the model; "auto" is VIF, or PIC of given blocks."""
    if model.model != "auto":
        return model.model
    return "vif" if model.block_column is None else "pic"


def uses_near_rows(model):
    """Return whether predictions use training rows beside the inducing inputs."""
    named = chosen_model(model)
    return specification(named, model.alpha_divergence).uses_near_rows


def _check_blocks(model):
    """Refuse parameters that do not go with given blocks, or without inducing inputs."""
    named = chosen_model(model)
    if not model.n_inducing and named not in ("lma", "vif"):
        raise ValueError(
            "n_inducing must be positive unless the model is 'lma' or 'vif', which need no "
            f"inducing inputs. Got 0 for {named!r}."
        )
    if isinstance(model.inducing, str) and model.inducing == "fourier":
        _check_features(model)
    if model.block_column is not None and conditioned_name(named) == "vif":
        raise ValueError(
            "block_column must not be given with model='vif', alone or in a mixture, which finds "
            "near rows itself. Leave it out, or take 'lma' or 'pic'."
        )


def _check_features(model):
    """Refuse models with a variance of rows that inducing values leave: features leave none."""
    named = model.model
    names = [named] if not isinstance(named, list | tuple) else [one for one, _ in named]
    if not all(isinstance(one, str) and one in _OF_FEATURES for one in names):
        raise ValueError(
            "The 'model' parameter must be one of 'sor', 'dtc' and 'vfe', or a mixture of these, "
            'with inducing="fourier": features leave rows no variance of their own. Got '
            f"{named!r}: name one of them, or choose inducing inputs."
        )


def by_regressions(model):
    """Return whether the labels of a classifier are learned as regressions."""
    return isinstance(model.likelihood, str) and model.likelihood in ("auto", "dirichlet")


def takes_many_classes(model):
    """Return whether a classifier takes more than two classes."""
    ordered = isinstance(model.likelihood, str) and model.likelihood == "ordinal"
    return ordered or by_regressions(model)


def check_noise(model):
    """Refuse noise that is neither Gaussian given a precision of each row, nor has sites."""
    likelihood = regression_likelihood(model.likelihood)
    if likelihood.conjugate or takes_row_precisions(likelihood):
        return
    if not has_log_density(likelihood):
        raise ValueError(
            "The 'likelihood' parameter must be Gaussian noise, or Gaussian given a precision of "
            f"each row, or have a log_density: one of {sorted(REGRESSION)}, or your own. Got "
            f"{model.likelihood!r}, which SVGPRegressor takes."
        )
    check_sites(model)


def check_sites(model):
    """Refuse sites where no near rows are known, of which they are found."""
    if not uses_near_rows(model):
        raise ValueError(
            f"The 'model' parameter must be 'vif', 'pic' or 'lma' with likelihood="
            f"{model.likelihood!r}, whose sites are found among near rows. Got {model.model!r}: "
            "without near rows take SVGPRegressor or SVGPClassifier."
        )


def merges_rows(model):
    """Return whether repeated rows are merged: those of given blocks or in order are not."""
    return model.block_column is None and model.partition != "contiguous"


def rows_in_blocks(model, inputs, y, weight):
    """Return the `Fit` of checked rows; those of given blocks lose rows of weight zero."""
    _check_blocks(model)
    if not merges_rows(model):
        inputs, y, weight = rows_of_weight(inputs, y, weight)
    return Fit.of(inputs, y, weight)


def block_plan(model, n_rows):
    """Return the `BlockPlan` of an estimator's parameters, for so many rows."""
    named = chosen_model(model)
    schedule = None
    if model.solver == "anytime":
        schedule = Average()
        if model.schedule != "average":
            steps = model.step_size, model.step_decay, model.step_power
            schedule = RobbinsMonro(*steps, is_natural=model.schedule == "robbins-monro")
    size = model.block_size if model.n_blocks is None else -(-n_rows // model.n_blocks)
    return BlockPlan(
        specification=specification(named, model.alpha_divergence),
        schedule=schedule,
        blocks_per_step=model.blocks_per_step,
        partition=PartitionChoice(model.partition, size),
        block_size=model.block_size,
        copies=model.copy_X,
        continues=model.warm_start,
        conditioning=_conditioning(model, named),
        inducing=model.inducing if isinstance(model.inducing, str) else None,
    )


def _conditioning(model, named):
    """Return what rows are conditioned on, or None."""
    conditioned = conditioned_name(named)
    if conditioned == "lma":
        return ChainChoice(model.markov_order)
    if conditioned == "vif":
        size = max(_LEAST_GROUP, model.n_neighbors // 2)
        return NeighboursChoice(int(model.n_neighbors), size, model.n_jobs)
    return None
