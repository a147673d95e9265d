"""What the user chose, as lower layers take it: settings, choices of the model, later problems."""

from dataclasses import fields, replace

from sklearn.utils import check_random_state

from .._parallel import resolved_jobs
from ..engines.base import Problem, Settings
from ..engines.fingerprints import fingerprint
from ..engines.start import Choices
from ..engines.variational.inference import inference_for
from ..engines.variational.multi_output import CoregionalisedInference
from ..optimize.progress import Trace
from .mixed_outputs import mixes_outputs


def settings_of(model):
    """Return what the user chose about learning."""
    names = (field.name for field in fields(Settings))
    chosen = {name: getattr(model, name) for name in names if hasattr(model, name)}
    chosen |= {"n_jobs": resolved_jobs(model.n_jobs), "has_noise": hasattr(model, "noise_variance")}
    return Settings(**chosen)


def choices_of(model):
    """Return what the user chose about kernel, noise and inducing inputs."""
    names = (field.name for field in fields(Choices))
    chosen = {name: getattr(model, name) for name in names if hasattr(model, name)}
    form = model._format
    chosen |= {"n_inducing": int(model.n_inducing), "columns": form.columns}
    chosen["missing"] = form.missing
    return Choices(**chosen, learns=model.optimizer is not None, **model._default_kernels())


def inference_of(model, likelihood, n_outputs):
    """Return how q(u) is found."""
    if mixes_outputs(model):
        return CoregionalisedInference()
    return inference_for(likelihood, n_outputs)


def previous_fit(model):
    """Return the earlier fit that the next one starts from, or None."""
    return model._fitted if model.warm_start else None


def later_problem(model, rows, clock, learns=True):
    """Pose the problem of a later batch."""
    fitted, settings = model._fitted, settings_of(model)
    return Problem(
        rows,
        fitted.start,
        inference_of(model, fitted.start.likelihood, fitted.targets.n_outputs),
        settings if learns else replace(settings, optimizer=None),
        Trace(clock),
        check_random_state(model.random_state),
    )


def fingerprints(model):
    """Return fingerprints of the parameters that later batches cannot change."""
    names = model._fixed_after_fit
    given = {name: getattr(model, name) for name in names if hasattr(model, name)}
    if isinstance(given.get("inducing"), str) and given["inducing"] != "fourier":
        given["inducing"] = "chosen"
    return {name: fingerprint(value) for name, value in given.items()}


def check_same_parameters(model):
    """Refuse a later batch if a parameter has changed that only a new fit heeds."""
    before, now = model._given or {}, fingerprints(model)
    changed = [name for name in before if before[name] != now.get(name)]
    if changed:
        raise ValueError(
            f"{' and '.join(changed)} must stay as in the first batch, since partial_fit goes "
            "on with what was learned there. Got new values: call fit, or give the old ones."
        )
