"""Parts of a fit, timed from the inside of `sklearn_sgp`; the only file that knows them."""

import time

import counting
import numpy as np
from protocol import PeakMemory, batches, emit, main, median_seconds
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils import check_random_state

from sklearn_sgp import SVGPRegressor
from sklearn_sgp._core import _linalg as la
from sklearn_sgp._stages import Problem as FitProblem
from sklearn_sgp._stages import StochasticState, _Stepper
from sklearn_sgp._start import scaled_rows, target_scaling
from sklearn_sgp.factors import accumulate
from sklearn_sgp.inducing import choose_inducing
from sklearn_sgp.learning import Clock, Trace
from sklearn_sgp.likelihoods import Gaussian
from sklearn_sgp.objectives import collapsed_bound, information_bound, optimal_posterior
from sklearn_sgp.posterior import Posterior, settle_jitter

FORMS = {"direct": False, "whitened": True}


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
        self.prior, _ = settle_jitter(
            self.parameters.kernel, self.parameters.Z, self.model.jitter
        )
        noise = self.parameters.noise_variance
        self.information = information_bound(self.parameters.kernel, self.rows, noise)

    @property
    def direct_is_safe(self):
        return self.prior.direct_is_safe(self.information)

    def stepper(self, whitened=None):
        """Stochastic steps from the prior; ``whitened`` forces a form, None lets it decide."""
        # no condition number is safe for infinite information, every one for none
        bound = {None: self.information, True: np.inf, False: 0.0}[whitened]
        shape = self.rows.y.shape[1]
        m = len(self.parameters.Z)
        start = Posterior(self.prior, np.zeros((m, m)), np.zeros((m, shape)))
        state = StochasticState(self.parameters, start, self.prior.delta, bound)
        problem = FitProblem(
            self.rows,
            self.parameters,
            self.space,
            Gaussian(),
            self.model._settings(),
            Trace(Clock()),
            self.rng,
        )
        return _Stepper(problem, state)

    def steps(self, whitened=None):
        """Function that takes one more stochastic step, and the stepper."""
        stepper = self.stepper(whitened)
        indices = batches(len(self.rows), self.model.batch_size)
        return lambda: stepper.step(self.rows.select(np.sort(next(indices))), True), stepper

    def evaluation(self, rows, whitened=None):
        """Function that evaluates the collapsed bound of some rows with all gradients."""
        return lambda: collapsed_bound(
            self.parameters,
            rows,
            self.prior.delta,
            n_jobs=self.model.n_jobs,
            whitened=whitened,
        )


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
    emit(peak_gflops=peak_gflops(), direct_is_safe=fit.direct_is_safe, condition=fit.prior.condition)
    for form, whitened in FORMS.items():
        step, stepper = fit.steps(whitened)
        _emit_part("step", form, median_seconds(step, repeats, 10),
                   counting.step(m, batch_size, d, whitened))
        assert stepper.state.whitened == whitened, "the form changed on the way"
        rows = fit.rows.select(slice(0, evaluation_rows))
        seconds = median_seconds(fit.evaluation(rows, whitened), max(3, repeats // 10))
        _emit_part("collapsed", form, seconds, counting.collapsed(m, len(rows), d, whitened))
        L_inv = fit.prior.L_inv if whitened else None
        kernel, Z = fit.parameters.kernel, fit.parameters.Z
        for n_jobs in (1, 2):
            seconds = median_seconds(
                lambda L_inv=L_inv, jobs=n_jobs: accumulate(kernel, Z, L_inv, fit.rows, n_jobs=jobs),
                max(2, repeats // 40),
                1,
            )
            name = "pass" if n_jobs == 1 else "pass, 2 jobs"
            _emit_part(name, form, seconds, counting.exact_pass(m, n, d, whitened), n)


def _emit_part(part, form, seconds, counted, per=1):
    owed, done = counted
    emit(part=part, form=form, seconds=seconds / per, gflop_owed=owed / per / 1e9,
         gflop_done=done / per / 1e9)


def growth(_, *, points, n_jobs, steps, max_evaluation_rows):
    """Seconds and memory of the parts of a fit at several sizes (n, m, d)."""
    for n, m, d in points:
        X, y = _growth_rows(n, d)
        Z = X[np.random.default_rng(1).permutation(n)[:m]].astype(np.float64)
        options = {"n_jobs": n_jobs, "batch_size": min(1024, n)}
        SVGPRegressor(optimizer=None, inducing=Z[:5]).fit(X[:200], y[:200])
        model = SVGPRegressor(optimizer=None, inducing=Z, **options)
        with PeakMemory() as peak:
            begin = time.perf_counter()
            model.fit(X, y)
            fit_seconds = time.perf_counter() - begin
        inside = Fit(X, y, Z, **options)
        form = not inside.direct_is_safe
        record = {
            "fit": fit_seconds,
            "fit_counted": counting.exact_fit(m, n, d, form),
            "megabytes": peak.megabytes,
            "inducing": _kmeans_seconds(X, m),
        }
        step, _ = inside.steps()
        record["step"] = median_seconds(step, steps)
        record["step_counted"] = counting.step(m, options["batch_size"], d, form)[1]
        if n <= max_evaluation_rows:
            record["evaluation"] = median_seconds(inside.evaluation(inside.rows), 3, 1)
            record["evaluation_counted"] = counting.collapsed(m, n, d, form)[1]
        emit(n=n, m=m, d=d, n_jobs=n_jobs, whitened=form, **record)


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
    y_test = problem.y_test
    for run in range(runs):
        fit = Fit(
            problem.X, problem.y, n_inducing=n_inducing, batch_size=batch_size, random_state=run
        )
        stepper, indices = fit.stepper(), batches(len(fit.rows), batch_size, seed=run)
        for k in range(n_steps):
            stepper.step(fit.rows.select(np.sort(next(indices))), k >= n_steps // 10)
            if (k + 1) % every == 0:
                mean = _mean(stepper.state.posterior, problem.X_test)
                rmse = np.sqrt(np.mean((y_test - mean) ** 2)) * problem.y_scale
                emit(run=run, step=k + 1, rmse=rmse)
        # q(u) at its optimum for what was learned, as every fit of ours ends
        parameters = stepper.parameters()
        prior, _ = settle_jitter(parameters.kernel, parameters.Z, fit.model.jitter)
        posterior, _ = optimal_posterior(prior, fit.rows, parameters.noise_variance)
        mean = _mean(posterior, problem.X_test)
        emit(run=run, step=None, rmse=np.sqrt(np.mean((y_test - mean) ** 2)) * problem.y_scale)


def _mean(posterior, X, chunk=1024):
    parts = [posterior.mean(X[lo : lo + chunk])[:, 0] for lo in range(0, len(X), chunk)]
    return np.concatenate(parts)


if __name__ == "__main__":
    main([micro, growth, trajectory])
