"""Collections on a cluster: what workers do and send, and what happens where they die."""

import os
import signal
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import Matern

from sklearn_sgp import AnytimeSGPRegressor, SVGPClassifier, SVGPRegressor
from sklearn_sgp.collections.compute import LostCollectionError

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
# distributed's own, at start-up and shut-down
pytestmark = pytest.mark.filterwarnings("default", "ignore:max_iter=")
N, CHUNK = 6000, 750
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # on Windows the latter ends a process at once


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def die_in_turn(failures, after):
    """Count in a file how often this is called; of the calls that come later one ends a worker."""
    with suppress(FileNotFoundError):  # it has been renamed: somebody has died
        with open(failures, "r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(b"x")
            n_calls = file.tell()
        if n_calls > after:
            os.rename(failures, failures + ".done")
            os.kill(os.getpid(), KILL)


def block(start, failures=None, after=0):
    """Columns of X and y from row ``start`` on; with ``failures`` a worker may die here."""
    if failures is not None:
        die_in_turn(failures, after)
    rng = np.random.default_rng(start)
    X = rng.uniform(0.0, 6.0, (CHUNK, 2))
    y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.standard_normal((CHUNK, 1))
    return np.hstack([X, y])


def table(failures=None, after=0):
    """X and y, made where they are needed, and the same in memory."""
    starts = da.arange(0, N, CHUNK, chunks=1)
    rows = starts.map_blocks(
        lambda start: block(int(start[0]), failures, after),
        new_axis=1,
        chunks=((CHUNK,) * len(starts), (3,)),
        meta=np.empty((0, 3)),
    )
    here = np.vstack([block(start) for start in range(0, N, CHUNK)])
    return (rows[:, :2], rows[:, 2]), (here[:, :2], here[:, 2])


def models():
    shared = {"n_inducing": 10, "init_size": 150, "max_iter": 2, "random_state": 0}
    kernel = 1.0 * Matern(nu=1.5)
    return {
        "regressor": SVGPRegressor(kernel, normalize_y=(0.1, 0.8), **shared),
        "lbfgs": SVGPRegressor(kernel, normalize_y=(0.1, 0.8), **shared, optimizer="lbfgs"),
        "classifier": SVGPClassifier(kernel, **shared),
        "posterior": SVGPRegressor(kernel, normalize_y=False, **shared, optimizer=None),
        "fitc": AnytimeSGPRegressor(
            kernel, model="fitc", solver="exact", normalize_y=False, **shared, optimizer=None
        ),
    }


def fitted(name, X, y):
    return models()[name].fit(X, y > 0.0 if name == "classifier" else y)


@cache
def undisturbed(name):
    """What is fitted where no worker dies."""
    return fitted(name, *table()[0])


def predicted(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.slow_cases("regressor")
@pytest.mark.parametrize("name", models())
def test_workers_do_the_work(client, name):
    """Each partition is read and summed up in another process; predictions are made there, too."""
    chunks, here = table()
    with distributed.get_task_stream(client=client) as stream:
        model = fitted(name, *chunks)
        lazy = predicted(model, chunks[0]).compute()
    assert os.getpid() not in client.run(os.getpid).values()
    workers = set(client.scheduler_info()["workers"])
    for task in ("sgp_summarised", "sgp_of_partition", "sgp_answered"):
        done = [one["worker"] for one in stream.data if task in str(one["key"])]
        assert len(done) >= N // CHUNK
        assert set(done) <= workers
    expected = fitted(name, *here)
    assert_allclose(predicted(model, here[0][:50]), predicted(expected, here[0][:50]), rtol=1e-8)
    assert_allclose(lazy, predicted(model, here[0]), rtol=1e-8)


def test_rows_of_a_block_come_together(client):
    """PIC without labels brings the rows of a block to a worker, which predicts in it."""
    (X, y), here = table()
    model = AnytimeSGPRegressor(1.0 * Matern(nu=1.5), model="pic", solver="exact", n_inducing=10)
    model.set_params(optimizer=None, normalize_y=False, random_state=0, block_size=200)
    with distributed.get_task_stream(client=client) as stream:
        mean = model.fit(X, y).predict(X).compute()
    for task in ("sgp_gathered_blocks", "sgp_of_blocks", "sgp_answered_there"):
        done = [one["worker"] for one in stream.data if task in str(one["key"])]
        assert len(done) >= N // CHUNK - 1
        assert len(set(done)) == 2
    assert_allclose(mean, model.fit(*here).predict(here[0]), rtol=1e-8, atol=1e-8)


@pytest.mark.quick_cases("pitc")
@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_workers_have_the_blocks(client, model):
    """Blocks with labels are summed up where their partition is, and predict there."""
    (X, y), here = table()
    model = AnytimeSGPRegressor(1.0 * Matern(nu=1.5), model=model, solver="exact", n_inducing=10)
    model.set_params(optimizer=None, normalize_y=False, random_state=0)
    labels = np.arange(N) // 150
    X = da.concatenate([X, da.from_array(labels, CHUNK)[:, None]], axis=1)
    with distributed.get_task_stream(client=client) as stream:
        model.set_params(block_column=2).fit(X, y)
        mean = model.predict(X).compute()
    workers = set(client.scheduler_info()["workers"])
    for task in ("sgp_of_blocks", "sgp_answered"):
        done = [one["worker"] for one in stream.data if task in str(one["key"])]
        assert len(done) >= N // CHUNK
        assert set(done) <= workers
    rows = np.column_stack([here[0], labels])
    expected = model.fit(rows, here[1]).predict(rows)
    assert_allclose(mean, expected, rtol=1e-8, atol=1e-8)


def incoming(client):
    """What each worker has received from others: bytes and keys of tasks."""

    def of(dask_worker):
        entries = dask_worker.transfer_incoming_log
        return [(entry["total"], [str(key) for key in entry["keys"]]) for entry in entries]

    return client.run(of)


def test_sums_travel_and_rows_do_not(cluster, client):
    """A pass moves a few matrices of the size of the inducing inputs for each partition."""
    chunks, _ = table()
    model = models()["posterior"]
    before = incoming(client)
    model.fit(*chunks)
    after = incoming(client).items()
    moved = [entry for worker, entries in after for entry in entries[len(before[worker]) :]]
    names = {key.split("-")[0] for _, keys in moved for key in keys}
    assert names <= {"sgp_of_partition", "sgp_added", "Shared"}
    m, n_partitions = model.n_inducing, N // CHUNK
    assert sum(total for total, _ in moved) < 4 * (8 * m * m) * n_partitions + 5 * 10_000


@pytest.mark.parametrize(
    ("name", "after"),
    [
        pytest.param("regressor", 3, marks=pytest.mark.slow),
        ("regressor", 26),
        pytest.param("classifier", 18, marks=pytest.mark.slow),
    ],
    ids=["first pass", "last pass", "sample"],
)
def test_a_worker_dies(client, tmp_path, name, after):
    """A fit goes on where a worker is killed, and its result is the same."""
    failures = tmp_path / "failures"
    failures.touch()
    chunks, here = table(str(failures), after)
    model = fitted(name, *chunks)
    assert not failures.exists()  # it has died
    expected = undisturbed(name)
    assert_allclose(predicted(model, here[0]), predicted(expected, here[0]), rtol=1e-12)
    assert model.objective_ == expected.objective_


@pytest.mark.slow
def test_a_worker_dies_that_holds_rows(client):
    """Rows that are kept between the passes of L-BFGS are read again."""
    (X, y), here = table()
    X, y = X.persist(), y.persist()
    distributed.wait([X, y])
    (first, *_) = client.run(os.getpid).values()
    expected = fitted("lbfgs", X, y)
    os.kill(first, KILL)
    model = fitted("lbfgs", X, y)
    assert_allclose(predicted(model, here[0]), predicted(expected, here[0]), rtol=1e-12)


@pytest.mark.slow
def test_a_client_that_is_closed(cluster):
    """The error says what is gone, and the estimator is as before."""
    with distributed.Client(cluster):
        (X, y), here = table()
        model = fitted("posterior", *here)
        before = dict(model.__dict__)
        X, y = X.persist(), y.persist()
        distributed.wait([X, y])
    for call in (lambda: model.fit(X, y), lambda: model.predict(X)):
        with pytest.raises(LostCollectionError, match="client must stay open"):
            call()
    assert model.__dict__ == before


@pytest.mark.slow
def test_a_client_that_is_closed_during_a_fit(cluster, client):
    """So is it where the client goes while workers work."""
    other = distributed.Client(cluster)

    class Closing(SVGPRegressor):
        def _default_kernels(self):
            other.close()
            return super()._default_kernels()

    with other.as_current():
        (X, y), _ = table()
        model = Closing(n_inducing=5, optimizer=None)
        with pytest.raises(LostCollectionError):
            model.fit(X.persist(), y.persist())
    assert not hasattr(model, "n_iter_")
    assert model._fitted is None
