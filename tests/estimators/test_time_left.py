"""The time that a fit has left, by lines and callbacks, on a clock that counts operations."""

import re
import time

import numpy as np
import pytest
from callback_helpers import Callback
from slow_variants import slow

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.engines.variational.inference import ConjugateInference, SiteInference
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

pytestmark = pytest.mark.filterwarnings(
    "ignore:Intervals of 90 %", "ignore::sklearn.exceptions.ConvergenceWarning"
)


class Machine:
    """Counts evaluations of groups and of bounds; nothing else takes time on it."""

    def __init__(self, monkeypatch, slower=1.0):
        self.now, self.slower = 0.0, slower
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        for name, each in (("__call__", 1e-3), ("_each", 3e-4)):
            self._count_groups(monkeypatch, name, each)
        for kind, each in ((ConjugateInference, 1e-5), (SiteInference, 6e-5)):
            self._count_bounds(monkeypatch, kind, each)

    def _count_groups(self, monkeypatch, name, each):
        method = getattr(CompositeLikelihood, name)

        def counted(evidence, *given):
            groups = given[0] if len(given) > 1 else evidence.groups
            sizes = np.array([len(group.X) / 300.0 for group in groups])
            self.now += self.slower * each * np.sum(sizes**1.5)
            return method(evidence, *given)

        monkeypatch.setattr(CompositeLikelihood, name, counted)

    def _count_bounds(self, monkeypatch, kind, each):
        method = kind.objective

        def counting(inference, space, parameters, rows, *options):
            units, bound, known_now = method(inference, space, parameters, rows, *options)

            def counted(candidate):
                self.now += self.slower * each * len(rows)
                return bound(candidate)

            return units, counted, known_now

        monkeypatch.setattr(kind, "objective", counting)


class Told(Callback):
    """Keeps what each step tells: the time, the stage, and the seconds that are left."""

    def __init__(self, machine):
        self.machine, self.steps = machine, []

    def on_fit_task_end(self, estimator, context):
        """Note what a step tells."""
        if context.task_name == "step":
            self.steps.append((self.machine.now, context.stage, context.seconds_left))


def table(kind, n=3000):
    rng = np.random.default_rng(1)
    X = rng.uniform(-3.0, 3.0, (n, 3))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(n)
    return X, y > 0.0 if kind.__name__.endswith("Classifier") else y


def told_of(kind, monkeypatch, slower=1.0, n_rows=3000, **options):
    """Return the clock at the end, and what the steps of a fit told."""
    with monkeypatch.context() as patch:
        machine = Machine(patch, slower)
        told = Told(machine)
        kind(random_state=0, **options).set_callbacks(told).fit(*table(kind, n_rows))
        return machine.now, told.steps


def lines_of(kind, monkeypatch, capsys, **options):
    """Return the clock at the end, and lines of all entries: seconds, and what is said of more."""
    with monkeypatch.context() as patch:
        machine = Machine(patch, slower=50.0)  # seconds are printed with one decimal
        kind(random_state=0, verbose=2, **options).fit(*table(kind))
    found = re.findall(r"\] ([0-9.]+) s( \(.*\))?: entry", capsys.readouterr().out)
    return machine.now, [(float(now), said) for now, said in found]


@pytest.mark.slow
def test_what_is_left_is_known(monkeypatch):
    """From half of a fit by passes on, nine of ten steps are right within 30 % of the whole."""
    end, steps = told_of(AnytimeSGPRegressor, monkeypatch)
    errors = [abs(left - (end - now)) for now, _, left in steps if now > 0.5 * end]
    assert len(errors) >= 5 and np.quantile(errors, 0.9) < 0.3 * end


@pytest.mark.slow
@pytest.mark.quick_cases("options0-SVGPRegressor")
@pytest.mark.parametrize("kind", [SVGPRegressor, SVGPClassifier])
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"max_iter": 15}, marks=pytest.mark.slow),
        pytest.param({"init_size": 1000, "max_iter": 40}, marks=pytest.mark.slow),
    ],
)
def test_a_limit_holds(kind, options, monkeypatch, capsys):
    """Where learning ends as gains fall, a limit is told, and no fit takes longer."""
    end, lines = lines_of(kind, monkeypatch, capsys, n_inducing=40, **options)
    limits = [(now, said) for now, said in lines if said.startswith(" (at most ")]
    assert len(limits) >= 5 and not any("about" in said for now, said in lines if now < 0.9 * end)
    for now, said in limits:
        assert now + float(said.split()[2]) >= 0.97 * end


@pytest.mark.slow
@pytest.mark.quick_cases("SVGPRegressor-options3", "AnytimeSGPRegressor-options1")
@pytest.mark.parametrize(
    "kind, options",
    [
        (AnytimeSGPClassifier, {"n_rows": 300, "max_iter": 5}),
        (AnytimeSGPRegressor, {"likelihood": "auto", "n_rows": 500, "max_iter": 5}),
        (AnytimeSGPRegressor, {"n_rows": 1000}),
        (SVGPRegressor, {"n_inducing": 40, "optimizer": "adam", "max_steps": 50}),
        (SVGPRegressor, {"n_inducing": 40, "likelihood": "heteroscedastic", "max_iter": 10}),
    ],
)
def test_nothing_is_said_of_what_is_not_known(kind, options, monkeypatch):
    """Where rows ask for more as they like, and where nothing was counted, steps tell inf."""
    _, steps = told_of(kind, monkeypatch, **{"n_rows": 2000} | options)
    assert len(steps) >= 5 and {left for _, _, left in steps} == {np.inf}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [(SVGPRegressor, {"n_rows": 1000, "n_inducing": 40}), slow(AnytimeSGPRegressor, {})],
)
def test_a_slow_machine_tells_as_much_more(kind, options, monkeypatch):
    """On a machine of a fifth of the speed each step tells five times the seconds.

    Passes of rows with those near them are counted as well.
    """
    _, fast = told_of(kind, monkeypatch, **options)
    _, later = told_of(kind, monkeypatch, slower=5.0, **options)
    passes = any("given those near them, pass 3 of 6" in stage for _, stage, _ in fast)
    assert passes == (kind is AnytimeSGPRegressor)
    assert [stage for _, stage, _ in fast] == [stage for _, stage, _ in later]
    known = [(one[2], other[2]) for one, other in zip(fast, later, strict=True)]
    assert np.isfinite(known).any()
    np.testing.assert_allclose(*(5.0 * np.array(known).T[0], np.array(known).T[1]), rtol=1e-9)


def test_stages_say_how_far_they_are(monkeypatch):
    """Iterations are counted against a limit."""
    _, steps = told_of(SVGPRegressor, monkeypatch, n_inducing=40)
    assert any(", iteration 21 of at most 180" in stage for _, stage, _ in steps)


@pytest.mark.slow
def test_long_stages_have_more_than_one_line(monkeypatch, capsys):
    """With `verbose=1` five seconds after a line there is another one, with what is left."""
    with monkeypatch.context() as patch:
        Machine(patch, slower=50.0)
        AnytimeSGPRegressor(random_state=0, verbose=1).fit(*table(AnytimeSGPRegressor))
    lines = capsys.readouterr().out.splitlines()
    assert any(" s left): learning from " in line and ", pass 2 of " in line for line in lines)
    seconds = [float(line.split("] ")[1].split(" s")[0]) for line in lines[:-1]]
    stages = [line.split(": ")[1].split(", pass")[0] for line in lines[:-1]]
    for k in range(1, len(seconds)):
        assert stages[k] != stages[k - 1] or seconds[k] - seconds[k - 1] >= 5.0 - 0.1
