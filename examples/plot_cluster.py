"""
==========================
House prices, on a cluster
==========================

A table in many files, more workers than one, and one of them lost on the way. This example writes
64,347 house sales in England and Wales to Parquet, reads them as a
`dask <https://docs.dask.org>`_ dataframe and fits `SVGPRegressor` to it, on a cluster of two
processes on this machine. The same lines serve a cluster of many machines and a table that no
machine could hold.

The client learns from a sample that it gathers. The passes over all rows are one task for each
partition, where the partition is read: what workers send one another are sums, m x m matrices with
m inducing inputs. If a worker dies its tasks are done again.

You will see the bytes that workers sent one another, the seconds of a fit and of a pass over all
rows, that the answer is that of one process, and ``cluster.png``: the predicted price along the
map, and how sure the model is of it.

``python plot_cluster.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
import os
import signal
import tempfile
from pathlib import Path
from threading import Timer
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _data import load_house_prices

from sklearn_sgp import SVGPRegressor

parser = argparse.ArgumentParser(description="House prices on a dask cluster that loses a worker.")
parser.add_argument("--data", help="npz with X, y and test_mask to use instead")
parser.add_argument("--address", help="of a running dask scheduler, in place of a local cluster")
parser.add_argument("--quick", action="store_true", help="a few thousand sales, a few seconds")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")

COLUMNS = ["latitude", "longitude"]
N_FILES = 16


def write_table(folder, X, y):
    """The sales as Parquet files."""
    table = X.assign(log_price=y)
    for k, rows in enumerate(np.array_split(np.arange(len(table)), N_FILES)):
        table.iloc[rows].to_parquet(folder / f"sales{k:02}.parquet")


def megabytes_moved(client):
    """What workers have received from one another."""

    def received(dask_worker):
        return sum(transfer["total"] for transfer in dask_worker.transfer_incoming_log)

    return sum(client.run(received).values()) / 1e6


def main(args):
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    X, y, is_test = load_house_prices(args.data)
    X = pd.DataFrame(X, columns=COLUMNS)
    X_train, y_train, X_test, y_test = X[~is_test], y[~is_test], X[is_test], y[is_test]
    n_inducing = 200
    if args.quick:
        X_train, y_train, n_inducing = X_train[:6000], y_train[:6000], 20
    model = SVGPRegressor(
        n_inducing=n_inducing, init_size=2000, max_iter=5 if args.quick else 50, random_state=0
    )

    # %%
    # In one process
    # --------------

    start = perf_counter()
    model.fit(X_train, y_train)
    print(f"fit in this process: {perf_counter() - start:.1f} s")
    mean, std = model.predict(X_test, return_std=True)
    kernel, noise, Z = model.kernel_, model.noise_variance_, model.inducing_points_

    # %%
    # From Parquet, on the cluster
    # ----------------------------
    # The dataframe goes to ``fit`` as it is. While it learns, a worker is killed.

    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder), X_train, y_train)
        table = dd.read_parquet(folder)
        cluster = args.address or LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        with Client(cluster) as client:
            pids = client.run(os.getpid)
            if not args.address:
                Timer(0.3, os.kill, (next(iter(pids.values())), signal.SIGKILL)).start()
            start = perf_counter()
            model.fit(table[COLUMNS], table["log_price"])
            print(f"fit on the cluster:  {perf_counter() - start:.1f} s")
            far, far_std = model.predict(X_test, return_std=True)
            lost = set(pids.values()) - set(client.run(os.getpid).values())
            print(f"workers lost on the way: {len(lost)}")

            # %%
            # A pass
            # ------
            # With kernel, noise and inducing inputs given, a fit is a pass for the scale of the
            # targets and one for the posterior.

            given = SVGPRegressor(kernel, noise_variance=noise, inducing=Z, optimizer=None)
            before, start = megabytes_moved(client), perf_counter()
            given.fit(table[COLUMNS], table["log_price"])
            seconds = perf_counter() - start
            moved = megabytes_moved(client) - before
            here = given.predict(X_test)
            lazy = given.log_density(table[COLUMNS], table["log_price"])
            density = lazy.mean().compute()  # where the partitions are read
        if not args.address:
            cluster.close()
    print(
        f"all rows, in {N_FILES} partitions: {seconds:.2f} s and {moved:.2f} MB between workers, "
        f"{len(X_train) * 24e-6:.2f} MB of rows stay where they are\n"
        f"largest difference of a prediction, with what was learned here: "
        f"{np.abs(mean - here).max():.1e}; learned anew {np.abs(mean - far).max():.1e}, of its "
        f"standard deviation {np.abs(std - far_std).max():.1e}\n"
        f"log density of the sales that it was fitted to: {density:.3f} nats each"
    )
    rmse = np.sqrt(np.mean((y_test - far) ** 2))
    inside = np.mean(np.abs(y_test - far) < 1.645 * far_std)
    print(f"held-out sales: RMSE {rmse:.3f} of log price, {inside:.1%} in the 90 % band")

    # %%
    # The picture
    # -----------

    figure, panels = plt.subplots(1, 2, figsize=(9, 5.6), layout="constrained", sharey=True)
    shown = [("predicted log price", far, "viridis"), ("standard deviation", far_std, "magma")]
    for panel, (title, values, colours) in zip(panels, shown, strict=True):
        low, high = np.quantile(values, [0.02, 0.98])
        dots = panel.scatter(
            X_test["longitude"],
            X_test["latitude"],
            c=values,
            s=2,
            cmap=colours,
            vmin=low,
            vmax=high,
        )
        panel.set(title=title, xlabel="longitude (degrees)", aspect=1.6)
        figure.colorbar(dots, ax=panel, shrink=0.7)
    panels[0].set(ylabel="latitude (degrees)")
    args.output.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.output / "cluster.png", dpi=120)
    print(f"saved {args.output / 'cluster.png'}")


# Worker processes import this file; only the first process may start them.
if __name__ == "__main__":
    main(parser.parse_args())
