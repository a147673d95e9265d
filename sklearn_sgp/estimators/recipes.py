"""What each fit does, step by step.

A recipe is read from top to bottom. The steps of ``prepare`` begin with the rows of a first batch,
as they were checked, encode their targets, and pose the problem: rows, kernel, noise and inducing
inputs. Those of ``learn`` solve it, by the engine that was chosen. A step that learns again, such
as noise in turn with the function, asks the same engine.
"""

from functools import partial
from typing import NamedTuple

from ..engines.variational.engine import Variational
from ..likelihoods._names import (
    classification_likelihood,
    has_row_precision,
    near_class_likelihood,
    needs_row_precision,
    regression_likelihood,
    warps_targets,
)
from .block_plan import by_regressions, uses_near_rows
from .mean_steps import VouchForMean
from .missing import noise_of
from .mixed_outputs import mixes_outputs
from .noise_steps import AlternateNoise, ScaleVariances, TellDoubt
from .steps import (
    Calibrate,
    EncodeAsRegressions,
    EncodeLabels,
    HoldKernelOfOneClass,
    InitialiseLikelihood,
    Learn,
    LearnBeforeSites,
    MergeRepeatedRows,
    MoveMeans,
    PlanBlocks,
    PoseProblem,
    ScaleObserved,
    ScaleTargets,
    UseEngine,
)
from .stream_steps import BeginStream, ScaleConstants, ScalePresent


class Recipe(NamedTuple):
    """The steps of a fit; each is called with a `Fit` and returns one.

    Attributes
    ----------
    prepare, learn : list of callable
    """

    prepare: list
    learn: list


def variational(model):
    """Return the engine of `SVGPRegressor` and `SVGPClassifier`."""
    return Variational(model.inducing, model.n_inducing, model.total_samples)


def svgp_regressor(model, previous, live_elsewhere=False):
    """List what `SVGPRegressor.fit` does, for rows in memory or of a collection."""
    likelihood = noise_of(model, live_elsewhere)
    engine = UseEngine(variational(model))
    pose = PoseProblem(model, previous=previous)
    if mixes_outputs(model):
        return Recipe([engine, ScaleObserved(model, likelihood), pose], [Learn(), MoveMeans()])
    encode = [MergeRepeatedRows(), InitialiseLikelihood(likelihood), ScaleTargets(model)]
    if needs_row_precision(likelihood):  # noise of each row, or a choice among noises
        pose = PoseProblem(model, noise_apart=True, previous=previous)
        mean = _mean(model, likelihood, [engine])
        learn = [AlternateNoise(), ScaleVariances(), *mean, TellDoubt()]
        return Recipe([engine, *encode, pose], learn)
    by_precisions = has_row_precision(likelihood)
    return Recipe([engine, *encode, pose], [LearnBeforeSites() if by_precisions else Learn()])


def _mean(model, likelihood, engine_steps, **options):
    """List what is done about the mean, where noise and warp are chosen by density."""
    return [VouchForMean(model, engine_steps, **options)] if warps_targets(likelihood) else []


def anytime_regressor(model, previous, merges, live_elsewhere=False):
    """List what `AnytimeSGPRegressor.fit` does; rows of given blocks are not merged."""
    likelihood = noise_of(model, live_elsewhere)
    encode = [InitialiseLikelihood(likelihood), ScaleTargets(model)]
    if merges:
        encode = [MergeRepeatedRows(), *encode]
    noise_apart = has_row_precision(likelihood)  # Gaussian given the precision of each row
    pose = PoseProblem(model, noise_apart, previous)
    mean = _mean(model, likelihood, [PlanBlocks(model, None)])
    learn = [AlternateNoise(), ScaleVariances(), *mean, TellDoubt()] if noise_apart else [Learn()]
    return Recipe([*encode, PlanBlocks(model, previous), pose], learn)


def streaming_regressor(model, engine, initial):
    """List what the first batch of a `StreamingSGPRegressor` does."""
    likelihood = regression_likelihood(model.likelihood)
    if mixes_outputs(model):
        scale, noise_apart = [ScaleObserved(model, likelihood)], False
    else:
        scale = [MergeRepeatedRows(), InitialiseLikelihood(likelihood), ScaleTargets(model)]
        scale = [ScalePresent(scale, ScaleObserved(model, likelihood))]
        noise_apart = needs_row_precision(likelihood)
    known = initial.previous, engine.first_inducing, initial.level.kernel_of
    pose = PoseProblem(model, noise_apart, *known)
    mean = _mean(model, likelihood, [], combines=False, choose=engine.first_inducing)
    learn = [AlternateNoise(), ScaleVariances(), *mean, TellDoubt()] if noise_apart else [Learn()]
    begin = BeginStream(engine, initial)
    return Recipe([*scale, ScaleConstants(model), pose, begin], learn)


def svgp_classifier(model, previous, classes):
    """List what `SVGPClassifier.fit` does, for classes that are known or those of the rows."""
    engine = UseEngine(variational(model))
    pose = PoseProblem(model, previous=previous)
    encode = EncodeLabels(partial(classification_likelihood, model.likelihood), classes)
    return Recipe([engine, encode, pose], [HoldKernelOfOneClass(), Learn()])


def anytime_classifier(model, previous, classes, merges):
    """List what `AnytimeSGPClassifier.fit` does."""
    steps, pose = [HoldKernelOfOneClass(), Learn()], PoseProblem(model, previous=previous)
    if by_regressions(model):
        encode = EncodeAsRegressions(model, classes, merges)
        if uses_near_rows(model):
            steps.append(Calibrate(keeps_inducing=not isinstance(model.inducing, str)))
    else:
        likelihood_of = partial(near_class_likelihood, model.likelihood)
        encode = EncodeLabels(likelihood_of, classes, merges)
    return Recipe([encode, PlanBlocks(model, previous), pose], steps)


def streaming_classifier(model, engine, initial):
    """List what the first batch of a `StreamingSGPClassifier` does."""
    pose = PoseProblem(model, False, initial.previous, engine.first_inducing)
    encode = EncodeLabels(partial(classification_likelihood, model.likelihood), model.classes_)
    return Recipe([encode, pose, BeginStream(engine, initial)], [Learn()])


def of_collection(recipe):
    """List what is left to do where the targets of a collection are encoded already."""
    left = (UseEngine, PlanBlocks, PoseProblem)
    return recipe._replace(prepare=[step for step in recipe.prepare if isinstance(step, left)])
