"""What a configuration is, and the estimators that all of them come from."""

from dataclasses import dataclass

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

CASES = {}
SMALL = {"n_inducing": 10, "max_iter": 5, "random_state": 0}
IN_BLOCKS = {"block_size": 30, "n_neighbors": 12}
LATER = (30, 20)
CLASSES = {"two": ("no", "yes"), "three": ("a", "b", "c"), "five": (10, 20, 30, 40, 50)}


@dataclass(frozen=True)
class Case:
    """A model, what it learns from, and how it goes on.

    Parameters
    ----------
    model : estimator
    table : str
        In `tables.TABLES`.
    n : int
        Rows of the first call.
    later : tuple of int
        Rows of each later batch.
    first : {"fit", "partial_fit"}
        The method of the first call.
    weight : str, default=None
        In `tables.WEIGHTS`.
    labels : int, default=None
        Number of blocks that are given as labels.
    layout : {"C", "F", "float32", "list", "dask", "dask frame"}
    again : bool
        Whether the same rows are fitted a second time.
    prior : bool
        Whether questions are asked before the first call.
    watch : callback class, default=None
    classes : sequence, default=None
        All labels, for the first batch.
    changes : dict, default=None
        Parameters that are set before each further call.
    spoilt : str, default=None
        What `spoilt.spoilt` spoils of the rows of a call,
    spoilt_at : {"first", "later"}
        the first one or those after it.
    seed : int
        Of the rows.
    """

    model: object
    table: str = "wave"
    n: int = 100
    later: tuple = ()
    first: str = "fit"
    weight: str | None = None
    labels: int | None = None
    layout: str = "C"
    again: bool = False
    prior: bool = False
    watch: type | None = None
    classes: tuple | None = None
    changes: dict | None = None
    spoilt: str | None = None
    spoilt_at: str = "first"
    seed: int = 0


@dataclass(frozen=True)
class Direct:
    """Questions to public objects without an estimator.

    Parameters
    ----------
    questions : callable
        Returns functions by name.
    """

    questions: object
    n: int = 0


def add(name, model, table="wave", **how):
    """Add a configuration under a name of its own."""
    name = f"{type(model).__name__} {name}"
    assert name not in CASES, name
    CASES[name] = Case(model, table, **how)


def svgp(kernel=None, **parameters):
    return SVGPRegressor(kernel, **(SMALL | parameters))


def anytime(model="auto", kernel=None, **parameters):
    return AnytimeSGPRegressor(kernel, model=model, **(SMALL | IN_BLOCKS | parameters))


def stream(kernel=None, **parameters):
    small = {"init_size": 60, "batch_size": 40}
    return StreamingSGPRegressor(kernel, **(SMALL | small | parameters))


def svgp_classes(kernel=None, **parameters):
    return SVGPClassifier(kernel, **(SMALL | parameters))


def anytime_classes(model="auto", kernel=None, **parameters):
    return AnytimeSGPClassifier(kernel, model=model, **(SMALL | IN_BLOCKS | parameters))


def stream_classes(kernel=None, **parameters):
    small = {"init_size": 60, "batch_size": 40}
    return StreamingSGPClassifier(kernel, **(SMALL | small | parameters))


def latent(n_components=2, **parameters):
    return BayesianGPLVM(n_components, **(SMALL | parameters))
