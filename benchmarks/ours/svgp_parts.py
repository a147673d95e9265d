"""Parts of a fit, timed from the inside of `sklearn_sgp`; the only file that knows them."""

import time

import counting
import numpy as np
from protocol import PeakMemory, batches, emit, main, median_seconds
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils import check_random_state

from sklearn_sgp import SVGPClassifier, SVGPRegressor
from sklearn_sgp._classification import chosen_likelihood
from sklearn_sgp._core import _linalg as la
from sklearn_sgp._followed import Collapsed
from sklearn_sgp._stages import Problem as FitProblem
from sklearn_sgp._start import scaled_rows, target_scaling
from sklearn_sgp._stochastic import StochasticState, _Stepper
from sklearn_sgp._stochastic_sites import SiteStep
from sklearn_sgp.factors import accumulate
from sklearn_sgp.inducing import choose_inducing
from sklearn_sgp.latents import Latents
from sklearn_sgp.learning import Adam, Clock, Trace
from sklearn_sgp.likelihoods import Gaussian
from sklearn_sgp.objectives import collapsed_bound, information_bound, suitable_form
from sklearn_sgp.parallel import one_blas_thread_each, resolved_jobs
from sklearn_sgp.posterior import settle_jitter
from sklearn_sgp.states import DirectState, WhitenedState

FORMS = {"direct": DirectState, "whitened": WhitenedState}


class Fit:
    """A fit just before its first stage: rows, parameters, prior.

    Parameters
    ----------
    X, y : ndarray
    Z : ndarray of shape (m, d), or None for the default choice
    **options
        Parameters of `SVGPRegressor`.
    """

    def __init__(self, X, y, Z=None, **options):
        options.setdefault("random_state", 0)
        if Z is not None:
            options["inducing"] = Z
        self.model = SVGPRegressor(**options)
        y = np.asarray(y, dtype=np.float64)[:, None]
        self.rows = scaled_rows(X, y, None, target_scaling(y, None, True))
        self.rng = check_random_state(self.model.random_state)
        self.parameters, self.space = self.model._start(self.rows, self.rng, None)
        self.prior, _ = settle_jitter(self.parameters.kernel, self.parameters.Z, self.model.jitter)
        noise = self.parameters.noise_variance
        self.information = information_bound(self.parameters.kernel, self.rows, noise)

    @property
    def direct_is_safe(self):
        return self.prior.direct_is_safe(self.information)

    def steps(self, form=None, seed=0):
        """Function that takes one more stochastic step from the prior, and the stepper.

        ``form`` is a state, or None to let the condition number decide; of the function, ``move``
        says whether kernel, noise and Z move too.
        """

        def choose(prior, noise_variance):
            return form or suitable_form(self.rows, prior, noise_variance)

        m, t = len(self.parameters.Z), self.rows.y.shape[1]
        start = WhitenedState(self.prior, np.zeros((m, m)), np.zeros((m, t)))
        problem = FitProblem(
            self.rows,
            self.parameters,
            self.space,
            Gaussian(),
            Collapsed(),
            self.model._settings(),
            Trace(Clock()),
            self.rng,
        )
        stepper = _Stepper(problem, StochasticState(self.parameters, start, choose))
        indices = batches(len(self.rows), self.model.batch_size, seed)

        def step(move=True):
            stepper.step(self.rows.select(np.sort(next(indices))), move)

        return step, stepper

    def evaluation(self, rows, form=None):
        """Function that evaluates the collapsed bound of some rows with all gradients.

        To be called where BLAS is held as it is during a run of L-BFGS: see `held_blas`.
        """
        delta, n_jobs = self.prior.delta, resolved_jobs(self.model.n_jobs)
        return lambda: collapsed_bound(self.parameters, rows, delta, n_jobs=n_jobs, form=form)

    def held_blas(self):
        return one_blas_thread_each(resolved_jobs(self.model.n_jobs))

    def exact_pass(self, form, n_jobs):
        """Function that forms the sums of all rows."""
        L_inv = self.prior.L_inv if form is WhitenedState else None
        kernel, Z = self.parameters.kernel, self.parameters.Z
        return lambda: accumulate(kernel, Z, L_inv, self.rows, n_jobs=n_jobs)


def peak_gflops(m=1024):
    """Rate of a general product through the BLAS that the package uses."""
    A, B = np.random.default_rng(0).standard_normal((2, m, m))
    C = np.zeros((m, m))
    return 2e-9 * m**3 / median_seconds(lambda: la.gemm(A, B, C), 15, warm_up=3)


def micro(problem, *, batch_size, evaluation_rows, repeats, length_scale, noise_variance):
    """A stochastic step, a collapsed evaluation and the exact pass, in both forms."""
    kernel = ConstantKernel(1.0) * RBF(length_scale, (1e-3, 1e3))
    fit = Fit(
        problem.X,
        problem.y,
        problem.Z,
        kernel=kernel,
        noise_variance=noise_variance,
        batch_size=batch_size,
    )
    (m, d), n = fit.parameters.Z.shape, len(fit.rows)
    emit(
        peak_gflops=peak_gflops(),
        direct_is_safe=bool(fit.direct_is_safe),
        condition=fit.prior.condition,
    )
    for name, form in FORMS.items():
        whitened = form is WhitenedState
        step, stepper = fit.steps(form)
        seconds = median_seconds(step, repeats, 10)
        assert isinstance(stepper.state.q, form), "the form changed on the way"
        _emit_part("step", name, seconds, counting.step(m, batch_size, d, whitened))

        rows = fit.rows.select(slice(0, evaluation_rows))
        with fit.held_blas():
            seconds = median_seconds(fit.evaluation(rows, form), max(3, repeats // 10))
        _emit_part("collapsed", name, seconds, counting.collapsed(m, len(rows), d, whitened))

        counted = counting.exact_pass(m, n, d, whitened)
        for n_jobs, part in ((1, "pass"), (2, "pass, 2 jobs")):
            seconds = median_seconds(fit.exact_pass(form, n_jobs), max(2, repeats // 40), 1)
            _emit_part(part, name, seconds, counted, per=n)


def class_step(problem, *, batch_size, repeats):
    """A stochastic step of a classifier that moves q(u), kernel and inducing inputs."""
    model = SVGPClassifier(inducing=problem.Z, batch_size=batch_size, random_state=0)
    model.classes_ = np.unique(problem.y)
    model._likelihood = chosen_likelihood(model.likelihood, model.classes_)
    rows = model._coded_rows(problem.X, problem.y, None)
    parameters, space = model._start(rows, check_random_state(0), None)
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, model.jitter)
    latents, settings = Latents.at_prior(prior, model._n_latent()), model._settings()
    stepper = SiteStep(latents, parameters, space, model._likelihood)
    adam = Adam(len(space.pack(parameters)), settings.learning_rate)
    indices = batches(len(rows), batch_size)

    def step():
        batch = rows.select(np.sort(next(indices)))
        batch = batch.weighted(rows.total_weight / batch.total_weight)
        stepper.take(batch, settings.natural_step, adam, settings.n_jobs)

    emit(seconds=median_seconds(step, repeats, 10), n_latent=len(latents.states))


def _emit_part(part, form, seconds, counted, per=1):
    owed, done = (1e-9 * flops / per for flops in counted)
    emit(part=part, form=form, seconds=seconds / per, gflop_owed=owed, gflop_done=done)


def growth(_, *, points, jobs, steps, max_evaluation_rows):
    """Seconds and memory of the parts of a fit at several sizes (n, m, d), jobs by jobs."""
    for n_jobs in jobs:
        for n, m, d in points:
            options = {"n_jobs": n_jobs, "batch_size": min(1024, n)}
            record = _growth_record(n, m, d, options, steps, n <= max_evaluation_rows)
            emit(n=n, m=m, d=d, n_jobs=n_jobs, **record)


def _growth_record(n, m, d, options, steps, evaluate):
    X, y = _growth_rows(n, d)
    Z = X[np.random.default_rng(1).permutation(n)[:m]].astype(np.float64)
    SVGPRegressor(optimizer=None, inducing=Z[:5]).fit(X[:200], y[:200])
    model = SVGPRegressor(optimizer=None, inducing=Z, **options)
    with PeakMemory() as peak:
        begin = time.perf_counter()
        model.fit(X, y)
        fit_seconds = time.perf_counter() - begin
    inside = Fit(X, y, Z, **options)
    whitened = not bool(inside.direct_is_safe)
    step, _ = inside.steps()
    record = {
        "whitened": whitened,
        "megabytes": peak.megabytes,
        "inducing": _kmeans_seconds(X, m),
        "fit": fit_seconds,
        "fit_counted": counting.exact_fit(m, n, d, whitened),
        "step": median_seconds(step, steps),
        "step_counted": counting.step(m, options["batch_size"], d, whitened)[1],
    }
    if evaluate:
        with inside.held_blas():
            record["evaluation"] = median_seconds(inside.evaluation(inside.rows), 3, 1)
        record["evaluation_counted"] = counting.collapsed(m, n, d, whitened)[1]
    return record


def _growth_rows(n, d):
    """float32 inputs, and a function of their first columns plus noise."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d), dtype=np.float32)
    y = np.sin(6.0 * X[:, 0]) + X[:, -1] + 0.3 * rng.standard_normal(n, dtype=np.float32)
    return X, y.astype(np.float64)


def _kmeans_seconds(X, m):
    begin = time.perf_counter()
    choose_inducing("kmeans", X, None, m, None, np.ones(X.shape[1]), np.random.RandomState(0))
    return time.perf_counter() - begin


def trajectory(problem, *, n_steps, runs, every, n_inducing, batch_size):
    """Test RMSE, in units of the data, along stochastic steps from a cold start.

    As in the paper the kernel and the noise are held during the first steps, here a tenth of all;
    each run has its own inducing inputs and order of rows.
    """
    for run in range(runs):
        fit = Fit(
            problem.X, problem.y, n_inducing=n_inducing, batch_size=batch_size, random_state=run
        )
        step, stepper = fit.steps(seed=run)
        for k in range(n_steps):
            step(move=k >= n_steps // 10)
            if (k + 1) % every == 0:
                mean = _mean(stepper.state.q.posterior, problem.X_test)
                emit(run=run, step=k + 1, rmse=_rmse(problem, mean))
        # q(u) at its optimum for what was learned, as every fit of ours ends
        parameters = stepper.parameters()
        final = SVGPRegressor(
            parameters.kernel.sklearn_kernel,
            noise_variance=parameters.noise_variance,
            inducing=parameters.Z,
            optimizer=None,
        ).fit(problem.X, problem.y)
        emit(run=run, step=None, rmse=_rmse(problem, final.predict(problem.X_test)))


def _mean(posterior, X, chunk=1024):
    parts = [posterior.mean(X[lo : lo + chunk])[:, 0] for lo in range(0, len(X), chunk)]
    return np.concatenate(parts)


def _rmse(problem, mean):
    return np.sqrt(np.mean((problem.y_test - mean) ** 2)) * problem.y_scale


if __name__ == "__main__":
    main([micro, class_step, growth, trajectory])
