"""
=======================================
A stream that drifts, fails and goes on
=======================================

A sensor reports 40 readings a minute: a daily course that drifts, with a fault now and then. The
program that watches it should flag readings that it would not have expected, forget what is no
longer true, and survive being killed. :class:`~sklearn_sgp.StreamingSGPRegressor` is all the state
there is: a pickle of a fixed size.

The loop below is one that you could run: predict the batch before learning from it, flag, leave
flagged readings out, learn, and save every ten batches in one atomic step. In the middle it is
"killed": the model is thrown away and the last save loaded.

You will see how many faults were flagged, how many alarms were false, how well the bands held, and
``live_stream.png``: readings less their predictions, the band, flags, and where the restart was.

``python plot_live_stream.py --help`` lists the options.
"""

# sphinx_gallery_thumbnail_number = 1
import argparse
import os
import pickle
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from sklearn_sgp import StreamingSGPRegressor

parser = argparse.ArgumentParser(description="A live stream with drift, faults and a restart.")
parser.add_argument("--quick", action="store_true", help="fewer batches")
parser.add_argument("--output", type=Path, default=Path(), help="folder of the picture")
args = parser.parse_args()

# %%
# The sensor
# ----------
# Its course over the day changes slowly; one reading in a hundred is off by five units.

rng = np.random.default_rng(0)
n_batches, size = (40, 40) if args.quick else (200, 40)


def readings(k):
    """Hour of the day, reading, and whether it is a fault."""
    hour = rng.uniform(0.0, 24.0, (size, 1))
    drift = 2.0 * k / n_batches
    value = 3.0 * np.sin(2.0 * np.pi * (hour[:, 0] - 3.0 * drift) / 24.0) + drift
    fault = rng.random(size) < 0.01
    return hour, value + 0.3 * rng.standard_normal(size) + 5.0 * fault, fault


def save(model, path):
    """Write beside, then rename: a reader sees the old file or the new one, never half of one."""
    beside = path.with_suffix(".new")
    with open(beside, "wb") as file:
        pickle.dump(model, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


# %%
# The loop
# --------
# ``forget_factor=0.85`` halves the weight of the past every four batches. A reading more than five
# standard deviations from what was predicted for it is flagged, and not learned from.

model = StreamingSGPRegressor(n_inducing=25, forget_factor=0.85, max_iter=3, random_state=0)
history, killed_at = [], n_batches // 2 + 5
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.pickle"
    for k in range(n_batches):
        hour, value, fault = readings(k)
        flagged = np.zeros(size, dtype=bool)
        if k:
            mean, std = model.predict(hour, return_std=True)
            flagged = np.abs(value - mean) > 5.0 * std
            history.append((np.full(size, k), value, mean, std, flagged, fault))
        if k == killed_at:
            model = pickle.loads(path.read_bytes())
            print(f"batch {k}: restarted from the save after {model.n_steps_} batches")
        model.partial_fit(hour[~flagged], value[~flagged])
        if k % 10 == 9:
            save(model, path)
            if k in (9, n_batches - 1):
                print(f"batch {k}: saved {path.stat().st_size / 1024:.0f} kB")

# %%
# What came of it
# ---------------

batch, value, mean, std, flagged, fault = map(np.concatenate, zip(*history, strict=True))
inside = np.mean(np.abs(value - mean)[~fault] < 1.645 * std[~fault])
print(
    f"{fault.sum()} faults, {(fault & flagged).sum()} flagged; {(flagged & ~fault).sum()} alarms",
    end="",
)
print(f" that were none, of {np.sum(~fault)} readings; 90 % bands held {inside:.1%}")

place = batch + np.tile(np.linspace(0, 1, size, endpoint=False), len(history))
residual = value - mean
figure, axes = plt.subplots(figsize=(11, 4.2), layout="constrained")
axes.plot(place, residual, ",", color="0.4")
axes.plot(
    place[flagged & fault], residual[flagged & fault], "o", color="C2", label="fault, flagged"
)
axes.plot(
    place[~flagged & fault], residual[~flagged & fault], "x", color="C3", label="fault, missed"
)
axes.plot(place[flagged & ~fault], residual[flagged & ~fault], "s", color="C1", label="false alarm")
axes.fill_between(place, -1.645 * std, 1.645 * std, color="C0", alpha=0.25, label="90 % band")
axes.axvline(killed_at, color="k", linestyle="--", linewidth=0.8, label="restart")
axes.set(xlabel="batch", ylabel="reading minus prediction, before learning from it")
axes.legend(loc="upper left", ncols=5, fontsize="small")
args.output.mkdir(parents=True, exist_ok=True)
figure.savefig(args.output / "live_stream.png", dpi=120)
print(f"saved {args.output / 'live_stream.png'}")
