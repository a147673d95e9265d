"""First batches of streams whose noise differs from row to row."""

import numpy as np
import pytest
from stream_helpers import batches, taught

from sklearn_sgp import StreamingSGPRegressor

VARIES = "heteroscedastic", "heteroscedastic_student_t", "auto"


def line(n=160):
    """Rows of a sine with noise, whose deviation is 0.1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.mark.slow
@pytest.mark.quick_cases("heteroscedastic")
@pytest.mark.parametrize("likelihood", VARIES)
def test_few_first_rows_are_not_all_that_is_learned_from(likelihood):
    """The kernel of fewer than six rows is held, but not for ever; short batches are welcome."""
    X, y = line()
    model = StreamingSGPRegressor(n_inducing=20, likelihood=likelihood, random_state=0)
    taught(model, batches(X[:100], y[:100], 3, 5, 12, 30, 60))
    log_p = model.log_density(X[100:], y[100:]).mean()
    plain = taught(StreamingSGPRegressor(n_inducing=20, random_state=0), [(X[:100], y[:100])])
    assert log_p > plain.log_density(X[100:], y[100:]).mean() - 0.15
    assert 0.5 < model.kernel_.k2.length_scale < 2.0


def test_a_stream_begins_anew_with_all_rows_where_noise_varies():
    """What kernel and noise have learned from is counted, though the last round learns nothing."""
    X, y = line()
    model = StreamingSGPRegressor(n_inducing=20, likelihood="heteroscedastic", random_state=0)
    model.partial_fit(X[:60], y[:60])
    state = model._fitted.state
    assert state.weight_learned == 60.0 and state.has_signal
    assert len(state.initial_rows.rows) == 60
    start = model._fitted.start.parameters.theta
    assert not np.allclose(start, model._fitted.parameters.theta)


def test_short_batches_one_after_the_other_where_noise_varies():
    """They failed, as what rows alone say of a level took one noise for all."""
    X, y = line(120)
    model = StreamingSGPRegressor(n_inducing=20, likelihood="heteroscedastic", random_state=0)
    taught(model, batches(X, y, 100, 103, 106, 109, 118))
    assert model.n_samples_seen_ == 120
