"""Load the data sets that ship with the examples (see ``data/README.md``)."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent / "data"

FLIGHT_FEATURES = [
    "plane age",
    "distance",
    "air time",
    "departure time",
    "arrival time",
    "day of week",
    "day of month",
    "month",
]


def load_flights(path=None):
    """Inputs, arrival delays in minutes and the mask of the held-out flights.

    The shipped file holds the 700,000 training and 100,000 test flights. `path` may name a
    file with the whole table ``X``, its delays ``y`` and ``split`` (2: test) instead; every flight
    that is not a test flight is then a training flight.
    """
    if path is not None:
        with np.load(path) as table:
            return table["X"].astype(np.float32), table["y"].astype(float), table["split"] == 2

    with np.load(HERE / "airline_flights.npz") as table:
        columns = {name: table[name].astype(int) for name in table.files}
    # Clock times are minutes after midnight, 1 to 1440, and are stored as differences.
    arrival = (columns["scheduled_arrival"] + columns["delay"] - 1) % 1440 + 1
    departure = (arrival - columns["air_time"] - columns["ground_time"] - 1) % 1440 + 1
    date = np.datetime64("2008-01-01") + columns["day"]
    month = date.astype("datetime64[M]")
    X = np.column_stack(
        [
            columns["plane_age"],
            columns["distance"],
            columns["air_time"],
            departure,
            arrival,
            (date - np.datetime64("2007-12-31")).astype(int) % 7 + 1,  # 1: Monday
            (date - month).astype(int) + 1,
            month.astype(int) % 12 + 1,
        ]
    ).astype(np.float32)
    # The file is sorted, which packs well; learning likes no order.
    order = np.random.default_rng(2013).permutation(len(X))
    return X[order], columns["delay"][order].astype(float), columns["is_test"][order] == 1


def load_house_prices(path=None):
    """Latitude and longitude in degrees, log price in GBP and the mask of the test rows."""
    with np.load(HERE / "house_prices.npz" if path is None else path) as table:
        return table["X"].astype(float), table["y"].astype(float), table["test_mask"]


def load_small(name):
    """Inputs, targets and, for "banana", the mask of the test rows, else None."""
    with np.load(HERE / f"{name}.npz") as table:
        test = table["test_mask"] if "test_mask" in table.files else None
        return table["X"].astype(float), table["y"].astype(float), test


def load_jura():
    """Places in km, cadmium, nickel and zinc in mg/kg of soil, and the mask of the test places."""
    with np.load(HERE / "jura.npz") as table:
        names = list(table["target_names"])
        metals = table["Y"][:, [names.index(name) for name in ("Cd", "Ni", "Zn")]]
        return table["X"].astype(float), metals.astype(float), table["test_mask"]
