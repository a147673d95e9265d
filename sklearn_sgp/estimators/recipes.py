"""What each fit does, step by step.

A recipe is read from top to bottom. The steps of ``prepare`` begin with the rows of a first batch,
as they were checked, encode their targets, and pose the problem: rows, kernel, noise and inducing
inputs. Those of ``learn`` solve it, by the engine that was chosen. A step that learns again, such
as noise in turn with the function, is written with the step that it repeats.

By default, with Gaussian noise, ``AnytimeSGPRegressor().fit`` does this, by `anytime_regressor`:

- ``merge_repeated_rows``, ``InitialiseLikelihood``, ``ScaleTargets``: equal rows become one of
  their weight, targets are in units of their deviation.
- ``ChooseEngine``, ``PoseProblem``, ``hold_few_rows``: `engines.blocks.engine.BlockModels` and the
  plan of its blocks, a start, which is held where rows are too few to learn from.
- ``Learn()``: the engine's ``fit``. It has `engines.blocks.solver.fit_in_blocks` learn the kernel
  from groups of near rows (``model="auto"`` is VIF), then find q(u), and does so again from another
  start where columns or directions may explain far more. What comes out is a `Fitted`, with a
  predictor: `predict.near_rows.NearRows` (for `SVGPRegressor`, without near rows,
  `predict.inducing`). It says mean and variance of the function; `predict.observations` adds noise
  and units, for all that a regressor predicts.

With ``likelihood="auto"`` it does this:

- ``merge_repeated_rows``, ``InitialiseLikelihood``, ``ScaleTargets``: which learns a warp of the
  targets, by short fits of some rows, and keeps it if it is better than none.
- ``ChooseEngine``, ``PoseProblem``, ``hold_few_rows``, as above.
- ``PlainFirst([BeginPlain(), ScaleTargets(), ChooseEngine(), PoseProblem(), ...])``: few rows whose
  targets are warped are learned from without that first, and go on from the kernel of that.
- ``AlternateNoise(Learn())``: the function with the same noise everywhere, then noise of each row,
  of the kind that is chosen, and the function given it, by turns.
- ``scale_variances``: a factor of predicted deviations, if left-out rows ask for it.
- ``VouchForMean([BeginPlain(), ScaleTargets(), ChooseEngine(), PoseProblem(), ...])``:
  left-out rows compare that with the fit of the plain mean, which many rows have now, with the
  same kernel and then one of its own, and say which mean is told.
- ``tell_doubt``: a warning, where bands did not hold what they should.
"""

from functools import partial
from typing import NamedTuple

from ..engines.expected import expects_noise
from ..kernels._white_noise import holds_noise
from ..likelihoods._names import (
    classification_likelihood,
    near_class_likelihood,
    needs_row_noise,
    noise_amid_gaps,
    regression_likelihood,
    takes_row_noise,
    warps_targets,
)
from ..optimize import time_shares
from .block_plan import by_regressions, uses_near_rows
from .choose_engine import ChooseEngine, in_blocks, of_first_rows, variational
from .class_steps import SitesIfBetter, as_regressions, calibrate_sites
from .label_frequencies import FEW_OF_NEAR_ROWS, WeighFrequencies
from .mean_steps import BeginPlain, PlainFirst, VouchForMean, keep_kernel, learn_in_silence
from .mixed_outputs import mixes_outputs
from .noise_steps import AlternateNoise, LearnBeforeSites, scale_variances, tell_doubt
from .observed_steps import MoveMeans, scale_observed
from .steps import (
    Calibrate,
    EncodeAsRegressions,
    EncodeLabels,
    HoldKernelOfOneClass,
    InitialiseLikelihood,
    Learn,
    PoseProblem,
    ScaleTargets,
    hold_few_rows,
    merge_repeated_rows,
)
from .stream_steps import ScaleConstants, ScalePresent, move_means, tell_outputs_apart

# So few rows are learned from plainly first, as by default, and the warped targets from the kernel
# of that: one choice among kernels, and no mean but the default's beside that of the distribution.
# From the other end, with 20 iterations of a plain fit from the kernel of the warped targets, one
# of twelve fits of six tables had 1.07 times the default's errors.
_PLAIN_FIRST_ROWS = 1536


class Recipe(NamedTuple):
    """The steps of a fit; each is called with a `Fit` and returns one."""

    prepare: list
    learn: list

    def steps_before(self, fit):
        """List the steps that prepare a fit; targets of a collection are encoded already."""
        if fit.y is not None:
            return self.prepare
        return [step for step in self.prepare if isinstance(step, ChooseEngine | PoseProblem)]


def _likelihood_of(estimator, amid_gaps, live_elsewhere):
    """Return the likelihood of a regressor for the rows that it was given.

    A missing value varies about its expectation, and the target with it. So rows that lack values
    have more noise than others: Gaussian noise becomes that of each row, unless the user asked for
    something else. 15 draws of five tables of 1,000 rows, 5 to 50 % missing: 0.07 nats a row
    more than with the same noise everywhere, more in 14 of them. It has tails, as a row that is far
    from all others of its kind costs most where noise is small: 12 draws of six tables of 800 rows
    have 0.02 nats more with them but for one, whose rows repeat each other (-0.25), and of two
    tables as they are, ages and survival times, 0.40 and 2.19 more.

    Near rows know the rows that repeat each other, which have next to no noise, and tails hide
    that. So the bound chooses for them: three draws of concrete and one of wine, 5 % missing, have
    0.01 to 0.42 nats more. Of variational models it chooses worse: -0.05, 0.01, -0.02 and -0.02.

    Parameters
    ----------
    amid_gaps : str or Likelihood
        Which noise rows that lack values have.
    live_elsewhere : bool
        Whether they are those of a collection.
    """
    lacks = len(estimator._format.missing.columns) > 0
    is_plain = isinstance(estimator.likelihood, str) and estimator.likelihood == "gaussian"
    is_held = holds_noise(estimator.kernel, estimator.noise_variance_bounds)
    is_free = estimator.optimizer in ("auto", "lbfgs") and not is_held
    is_free = is_free and not expects_noise(estimator.kernel_priors)
    if lacks and is_plain and is_free and not (live_elsewhere or mixes_outputs(estimator)):
        return regression_likelihood(amid_gaps)
    return _as_asked(estimator)


def _as_asked(estimator):
    """Return the likelihood of a regressor; there is no prior of noise that has no variance."""
    likelihood = regression_likelihood(estimator.likelihood)
    if needs_row_noise(likelihood):
        _refuse_prior_of_noise(estimator)
    return likelihood


def _refuse_prior_of_noise(estimator):
    """Refuse a prior of the noise where that is learned for each row, in turn with the function."""
    if expects_noise(estimator.kernel_priors):
        raise ValueError(
            "The 'kernel_priors' parameter must have no prior of the noise where that differs from "
            f"row to row. Got {list(estimator.kernel_priors)} with "
            f"likelihood={estimator.likelihood!r}: "
            'leave it out, or take likelihood="gaussian".'
        )


def svgp_regressor(estimator, previous, live_elsewhere=False):
    """List what `SVGPRegressor.fit` does, for rows in memory or of a collection."""
    likelihood = _likelihood_of(estimator, "heteroscedastic_student_t", live_elsewhere)
    engine = ChooseEngine(partial(variational, estimator))
    pose = PoseProblem(estimator, previous=previous)
    if mixes_outputs(estimator):
        scale = scale_observed(estimator, likelihood)
        return Recipe([*scale, engine, pose], [Learn(), MoveMeans()])
    encode = [merge_repeated_rows, InitialiseLikelihood(likelihood), ScaleTargets(estimator)]
    if needs_row_noise(likelihood):  # noise of each row, or a choice among noises
        pose = PoseProblem(estimator, has_row_noise=True, previous=previous)
        learn = _with_row_noise(estimator, likelihood)
    else:
        learn = [LearnBeforeSites(Learn()) if takes_row_noise(likelihood) else Learn()]
    return Recipe([*encode, engine, pose, hold_few_rows], learn)


def _with_row_noise(estimator, likelihood, anew=(), choose=None, combines=True):
    """List how function and noise are learned where noise differs from row to row, or is chosen.

    Where it is chosen, as by ``likelihood="auto"``, and with it a warp of the targets, density was
    what chose. Left-out rows then vouch for the mean, or have that of a second fit told.
    """
    learn = [AlternateNoise(Learn()), scale_variances]
    if warps_targets(likelihood):
        goes_on = PoseProblem(estimator, has_row_noise=True, choose=choose, goes_on=True)
        begins = PoseProblem(estimator, has_row_noise=True, choose=choose)
        ways = ([begins], [goes_on, keep_kernel])
        vouch = VouchForMean(*(_plain(estimator, anew, way) for way in ways), combines)
        plain = _plain(estimator, anew, [begins], time_shares.PLAIN_FIRST)
        learn = [PlainFirst(plain, goes_on, _PLAIN_FIRST_ROWS), *learn, vouch]
    return [*learn, tell_doubt]


def _plain(estimator, anew, pose, share=1.0):
    """List what a fit does with Gaussian noise and targets that are not warped, beside another one.

    It has a share of the time left. ``anew`` are steps that choose the engine anew, where that of
    the other fit has learned steps.
    """
    scale = ScaleTargets(estimator, warps=False)
    return [BeginPlain(share), scale, *anew, *pose, learn_in_silence, Learn()]


def anytime_regressor(estimator, previous, merges, live_elsewhere):
    """List what `AnytimeSGPRegressor.fit` does; rows of given blocks are not merged."""
    likelihood = _likelihood_of(estimator, noise_amid_gaps(), live_elsewhere)
    encode = [InitialiseLikelihood(likelihood), ScaleTargets(estimator)]
    if merges:
        encode = [merge_repeated_rows, *encode]
    has_row_noise = takes_row_noise(likelihood)  # Gaussian given the precision of each row
    if has_row_noise:
        _refuse_prior_of_noise(estimator)
    pose = PoseProblem(estimator, has_row_noise, previous)
    engine, anew = (ChooseEngine(partial(in_blocks, estimator, one)) for one in (previous, None))
    learn = _with_row_noise(estimator, likelihood, [anew]) if has_row_noise else [Learn()]
    return Recipe([*encode, engine, pose, hold_few_rows], learn)


def streaming_regressor(estimator, engine, initial):
    """List what the first batch of a `StreamingSGPRegressor` does."""
    likelihood = _as_asked(estimator)
    of_gaps = scale_observed(estimator, likelihood)
    if mixes_outputs(estimator):
        scale, has_row_noise = of_gaps, False
    else:
        scale = [merge_repeated_rows, InitialiseLikelihood(likelihood), ScaleTargets(estimator)]
        scale = [ScalePresent(scale, of_gaps)]
        has_row_noise = needs_row_noise(likelihood)
    pose = PoseProblem(
        estimator,
        has_row_noise=has_row_noise,
        previous=initial.previous,
        choose=engine.first_inducing,
        kernel_of=initial.level.kernel_of,
    )
    learn = [Learn(), move_means]
    if has_row_noise:
        choose = engine.first_inducing
        learn = _with_row_noise(estimator, likelihood, choose=choose, combines=False)
    begin = [tell_outputs_apart, ChooseEngine(partial(of_first_rows, engine, initial))]
    return Recipe([*scale, ScaleConstants(estimator), pose, hold_few_rows, *begin], learn)


def svgp_classifier(estimator, previous, classes):
    """List what `SVGPClassifier.fit` does, for classes that are known or those of the rows."""
    engine = ChooseEngine(partial(variational, estimator))
    encode = EncodeLabels(partial(classification_likelihood, estimator.likelihood), classes)
    pose, anew = (PoseProblem(estimator, previous=one) for one in (previous, None))
    learn = [HoldKernelOfOneClass(), Learn()]
    weigh = WeighFrequencies([encode, engine, anew, *learn], by_bound=True)
    return Recipe([encode, engine, pose], [*learn, weigh])


def anytime_classifier(estimator, previous, classes, merges):
    """List what `AnytimeSGPClassifier.fit` does."""
    learn = [HoldKernelOfOneClass(), Learn()]
    if by_regressions(estimator):
        previous = as_regressions(previous)
        encode = EncodeAsRegressions(estimator, classes, merges)
        if uses_near_rows(estimator):
            if estimator.likelihood == estimator.alpha_epsilon == "auto":
                learn.append(SitesIfBetter(PoseProblem(estimator)))
            keeps_inducing = not isinstance(estimator.inducing, str)
            learn.append(Calibrate(Learn(), keeps_inducing=keeps_inducing))
    else:
        likelihood_of = partial(near_class_likelihood, estimator.likelihood)
        encode = EncodeLabels(likelihood_of, classes, merges)
        learn.append(calibrate_sites)
    pose, anew = (
        [ChooseEngine(partial(in_blocks, estimator, one)), PoseProblem(estimator, previous=one)]
        for one in (previous, None)
    )
    steps = [encode, *anew, *learn]
    weigh = WeighFrequencies(steps, FEW_OF_NEAR_ROWS, expects_exceptions=True)
    return Recipe([encode, *pose], [*learn, weigh])


def streaming_classifier(estimator, engine, initial):
    """List what the first batch of a `StreamingSGPClassifier` does."""
    likelihood_of = partial(classification_likelihood, estimator.likelihood)
    encode = EncodeLabels(likelihood_of, estimator.classes_)
    pose, anew = (
        PoseProblem(estimator, previous=one, choose=engine.first_inducing)
        for one in (initial.previous, None)
    )
    choose = ChooseEngine(partial(of_first_rows, engine, initial))
    weigh = WeighFrequencies([encode, anew, choose, Learn()], by_bound=True)
    return Recipe([encode, pose, choose], [Learn(), weigh])
