"""What the estimators in blocks ask of their engine."""

from ..engines.blocks.models import conditioned_name, specification
from ..engines.blocks.schedules import Average, RobbinsMonro
from ..engines.blocks.state import BlockPlan
from ..likelihoods._names import REGRESSION, has_log_density, regression_likelihood, takes_row_noise
from ..partitions.chains import ChainChoice
from ..partitions.neighbours import NeighboursChoice
from ..partitions.partition import PartitionChoice
from .fit import Fit
from .validation import rows_of_weight

_OF_FEATURES = ("sor", "dtc", "vfe")
# Rows of a group of "vif": half as many as its neighbours, so that factorisations serve many rows.
_LEAST_GROUP = 30


def chosen_model(estimator):
    """Return the name of the model; "auto" is VIF, or PIC of given blocks."""
    if estimator.model != "auto":
        return estimator.model
    return "vif" if estimator.block_column is None else "pic"


def uses_near_rows(estimator):
    """Return whether predictions use training rows beside the inducing inputs."""
    named = chosen_model(estimator)
    return specification(named, estimator.alpha_divergence).uses_near_rows


def _check_blocks(estimator):
    """Refuse parameters that do not go with given blocks, or without inducing inputs."""
    named = chosen_model(estimator)
    if not estimator.n_inducing and named not in ("lma", "vif"):
        raise ValueError(
            "n_inducing must be positive unless the model is 'lma' or 'vif', which need no "
            f"inducing inputs. Got 0 for {named!r}."
        )
    if isinstance(estimator.inducing, str) and estimator.inducing == "fourier":
        _check_features(estimator)
    if estimator.block_column is not None and conditioned_name(named) == "vif":
        raise ValueError(
            "block_column must not be given with model='vif', alone or in a mixture, which finds "
            "near rows itself. Leave it out, or take 'lma' or 'pic'."
        )


def _check_features(estimator):
    """Refuse models with a variance of rows that inducing values leave: features leave none."""
    named = estimator.model
    names = [named] if not isinstance(named, list | tuple) else [one for one, _ in named]
    if not all(isinstance(one, str) and one in _OF_FEATURES for one in names):
        raise ValueError(
            "The 'model' parameter must be one of 'sor', 'dtc' and 'vfe', or a mixture of these, "
            'with inducing="fourier": features leave rows no variance of their own. Got '
            f"{named!r}: name one of them, or choose inducing inputs."
        )


def by_regressions(estimator):
    """Return whether the labels of a classifier are learned as regressions."""
    return isinstance(estimator.likelihood, str) and estimator.likelihood in ("auto", "dirichlet")


def takes_many_classes(estimator):
    """Return whether a classifier takes more than two classes."""
    ordered = isinstance(estimator.likelihood, str) and estimator.likelihood == "ordinal"
    return ordered or by_regressions(estimator)


def check_noise(estimator):
    """Refuse noise that is neither Gaussian given a precision of each row, nor has sites."""
    likelihood = regression_likelihood(estimator.likelihood)
    if likelihood.conjugate or takes_row_noise(likelihood):
        return
    if not has_log_density(likelihood):
        raise ValueError(
            "The 'likelihood' parameter must be Gaussian noise, or Gaussian given a precision of "
            f"each row, or have a log_density: one of {sorted(REGRESSION)}, or your own. Got "
            f"{estimator.likelihood!r}, which SVGPRegressor takes."
        )
    check_sites(estimator)


def check_sites(estimator):
    """Refuse sites where no near rows are known, of which they are found."""
    if not uses_near_rows(estimator):
        raise ValueError(
            f"The 'model' parameter must be 'vif', 'pic' or 'lma' with likelihood="
            f"{estimator.likelihood!r}, whose sites are found among near rows. Got "
            f"{estimator.model!r}: without near rows take SVGPRegressor or SVGPClassifier."
        )


def merges_rows(estimator):
    """Return whether repeated rows are merged: those of given blocks or in order are not."""
    return estimator.block_column is None and estimator.partition != "contiguous"


def rows_in_blocks(estimator, inputs, y, weight):
    """Return the `Fit` of checked rows; those of given blocks lose rows of weight zero."""
    _check_blocks(estimator)
    if not merges_rows(estimator):
        inputs, y, weight = rows_of_weight(inputs, y, weight)
    return Fit.of(inputs, y, weight)


def block_plan(estimator, n_rows):
    """Return the `BlockPlan` of an estimator's parameters, for so many rows."""
    named = chosen_model(estimator)
    schedule = None
    if estimator.solver == "anytime":
        schedule = Average()
        if estimator.schedule != "average":
            steps = estimator.step_size, estimator.step_decay, estimator.step_power
            schedule = RobbinsMonro(*steps, is_natural=estimator.schedule == "robbins-monro")
    size = estimator.block_size if estimator.n_blocks is None else -(-n_rows // estimator.n_blocks)
    return BlockPlan(
        specification=specification(named, estimator.alpha_divergence),
        schedule=schedule,
        blocks_per_step=estimator.blocks_per_step,
        partition=PartitionChoice(estimator.partition, size),
        block_size=estimator.block_size,
        copies=estimator.copy_X,
        continues=estimator.warm_start,
        conditioning=_conditioning(estimator, named),
        inducing=estimator.inducing if isinstance(estimator.inducing, str) else None,
    )


def _conditioning(estimator, named):
    """Return what rows are conditioned on, or None."""
    conditioned = conditioned_name(named)
    if conditioned == "lma":
        return ChainChoice(estimator.markov_order)
    if conditioned == "vif":
        size = max(_LEAST_GROUP, estimator.n_neighbors // 2)
        return NeighboursChoice(int(estimator.n_neighbors), size, estimator.n_jobs)
    return None
