"""Which engine solves the problem of a fit: a step, and the functions of which it calls one."""

from dataclasses import dataclass, replace

from ..engines.blocks.engine import BlockModels
from ..engines.variational.engine import Variational
from .block_plan import block_plan


@dataclass(frozen=True)
class ChooseEngine:
    """Chooses the engine; ``engine_of(fit)`` returns it."""

    engine_of: object

    def __call__(self, fit):
        return replace(fit, engine=self.engine_of(fit))


def variational(estimator, fit=None):
    """Return the engine of `SVGPRegressor` and `SVGPClassifier`, for any fit and later batch."""
    return Variational(estimator.inducing, estimator.n_inducing, estimator.total_samples)


def in_blocks(estimator, previous, fit):
    """Return the engine of block models: which factors, which blocks, which solver.

    ``previous`` is the fit before, if any, whose steps may go on.
    """
    return BlockModels(block_plan(estimator, len(fit.X)), previous)


def of_first_rows(engine, initial, fit):
    """Return the engine of a stream, which keeps its first rows while they are few.

    The engine has the user's parameters.
    """
    targets, likelihood = fit.targets, fit.problem.start.likelihood
    # units of targets may follow the rows, but not where outliers would lead
    is_gaussian = likelihood.conjugate and not fit.likelihood.allows_outliers
    return replace(
        engine,
        n_outputs=targets.n_outputs,
        initial=initial,
        is_informative=targets.is_informative(fit.problem.rows),
        follows_units=targets.follows_rows and is_gaussian,
    )
