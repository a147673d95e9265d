"""
==========================
House prices, on a cluster
==========================

Blocks of rows are work that can be done anywhere. This example fits PIC to 64,347 house sales in
England and Wales with the blocks spread over the workers of a `dask <https://distributed.dask.org>`_
cluster, here two processes on this machine. The same two lines serve a cluster of many machines.

A task gets its blocks' rows, the kernel and the inducing inputs, and returns sums: an m x m matrix,
a vector of length m and a number. Nothing else travels, whatever the number of rows.

You will see the seconds with and without the cluster, that the predictions agree, and
``cluster.png``: the predicted price along the map, and how sure the model is of it.

``python plot_cluster.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from _data import load_house_prices
from joblib import parallel_config

from sklearn_sgp import AnytimeSGPRegressor

parser = argparse.ArgumentParser(description="House prices with PIC on a dask cluster.")
parser.add_argument("--data", help="npz with X, y and test_mask to use instead")
parser.add_argument("--address", help="of a running dask scheduler, in place of a local cluster")
parser.add_argument("--quick", action="store_true", help="a few thousand sales, a few seconds")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")


def main(args):
    from distributed import Client, LocalCluster

    X, y, is_test = load_house_prices(args.data)
    X_train, y_train, X_test, y_test = X[~is_test], y[~is_test], X[is_test], y[is_test]
    n_inducing = 100
    if args.quick:
        X_train, y_train, n_inducing = X_train[:4000], y_train[:4000], 20
    model = AnytimeSGPRegressor(
        model="pic",
        n_inducing=n_inducing,
        block_size=500,
        solver="exact",
        max_iter=5 if args.quick else 40,
        random_state=0,
    )

    # %%
    # Here, then on the cluster
    # -------------------------
    # ``joblib.parallel_config`` says where the blocks go; the estimator stays as it is.

    start = perf_counter()
    mean, std = model.fit(X_train, y_train).predict(X_test, return_std=True)
    print(f"{model.n_blocks_} blocks, in this process: {perf_counter() - start:.1f} s")

    cluster = args.address or LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    )
    with Client(cluster), parallel_config(backend="dask"):
        start = perf_counter()
        far, far_std = model.fit(X_train, y_train).predict(X_test, return_std=True)
        print(f"{model.n_blocks_} blocks, on the cluster:   {perf_counter() - start:.1f} s")
    if not args.address:
        cluster.close()

    rmse = np.sqrt(np.mean((y_test - far) ** 2))
    inside = np.mean(np.abs(y_test - far) < 1.645 * far_std)
    print(
        f"largest difference of a prediction {np.abs(mean - far).max():.1e}, of its standard "
        f"deviation {np.abs(std - far_std).max():.1e}\n"
        f"held-out sales: RMSE {rmse:.3f} of log price, {inside:.1%} in the 90 % band"
    )

    # %%
    # The picture
    # -----------

    figure, panels = plt.subplots(1, 2, figsize=(9, 5.6), layout="constrained", sharey=True)
    shown = [("predicted log price", far, "viridis"), ("standard deviation", far_std, "magma")]
    for panel, (title, values, colours) in zip(panels, shown, strict=True):
        low, high = np.quantile(values, [0.02, 0.98])
        dots = panel.scatter(
            X_test[:, 1], X_test[:, 0], c=values, s=2, cmap=colours, vmin=low, vmax=high
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
