"""What the user chose, as lower layers take it: settings, choices of the model, later problems."""

from dataclasses import fields, replace

from sklearn.utils import check_random_state

from .._parallel import resolved_jobs
from ..engines.base import Problem, Settings
from ..engines.few_rows import is_held
from ..engines.fingerprints import fingerprint
from ..engines.start import Choices
from ..engines.variational.inference import inference_for
from ..engines.variational.multi_output import mixed_inference_for
from ..optimize.progress import Trace
from .mixed_outputs import mixes_outputs


def settings_of(estimator):
    """Return what the user chose about learning."""
    chosen = _parameters(estimator, _names(Settings)) | {
        "n_jobs": resolved_jobs(estimator.n_jobs),
        "has_noise": hasattr(estimator, "noise_variance"),
    }
    return Settings(**chosen)


def choices_of(estimator):
    """Return what the user chose about kernel, noise and inducing inputs."""
    chosen, form = _parameters(estimator, _names(Choices)), estimator._format
    chosen |= {"n_inducing": int(estimator.n_inducing)}
    chosen |= {"columns": form.columns, "missing": form.missing}
    return Choices(**chosen, learns=estimator.optimizer is not None, **estimator._default_kernels())


def _names(record):
    return [field.name for field in fields(record)]


def _parameters(estimator, names):
    """Return those of some parameters that an estimator has, by name."""
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def inference_of(estimator, likelihood, n_outputs):
    """Return how q(u) is found."""
    if mixes_outputs(estimator):
        return mixed_inference_for(likelihood, estimator.n_latent)
    return inference_for(likelihood, n_outputs)


def previous_fit(estimator):
    """Return the earlier fit that the next one starts from, or None.

    One of rows too few to learn from is none: as a start it would count as learned.
    """
    fitted = estimator._fitted if estimator.warm_start else None
    start = getattr(fitted, "start", None)
    return None if start is not None and start.earlier is None and is_held(start) else fitted


def later_problem(estimator, rows, clock, learns=True):
    """Pose the problem of a later batch."""
    fitted, settings = estimator._fitted, settings_of(estimator)
    return Problem(
        rows,
        fitted.start,
        inference_of(estimator, fitted.start.likelihood, fitted.targets.n_outputs),
        settings if learns else replace(settings, optimizer=None),
        Trace(clock),
        check_random_state(estimator.random_state),
    )


def fingerprints(estimator):
    """Return fingerprints of the parameters that later batches cannot change."""
    given = _parameters(estimator, estimator._fixed_after_fit)
    inducing = given.get("inducing", "fourier")
    is_string = isinstance(inducing, str)
    if inducing != "fourier" if is_string else estimator._takes_inducing_later:
        given["inducing"] = "chosen"
    return {name: fingerprint(value) for name, value in given.items()}


def check_parameters(estimator):
    """Check the parameters for a later batch; scikit-learn checks those of a first one alone."""
    if estimator._fitted is not None:
        estimator._validate_params()


def check_same_parameters(estimator, names=None):
    """Refuse a later batch if a parameter has changed that only a new fit heeds.

    ``names`` are those that are compared, None for all.
    """
    before, now = estimator._given or {}, fingerprints(estimator)
    compared = [name for name in before if names is None or name in names]
    changed = [name for name in compared if before[name] != now.get(name)]
    if changed:
        raise ValueError(
            f"{' and '.join(changed)} must stay as in the first batch, since partial_fit goes "
            "on with what was learned there. Got new values: call fit, or give the old ones."
        )
