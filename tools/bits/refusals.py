"""Configurations that are refused, amid a life of rows that are not: messages are promises."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.likelihoods import Poisson, Probit

from . import spoilt
from .cases import (
    add,
    anytime,
    anytime_classes,
    latent,
    stream,
    stream_classes,
    svgp,
    svgp_classes,
)

MAKERS = {
    svgp: "wave",
    anytime: "wave",
    stream: "wave",
    svgp_classes: "three",
    anytime_classes: "three",
    stream_classes: "three",
    latent: "curve",
}
# Values that are refused, or not, by estimators that have the parameter.
VALUES = {
    "kernel": (
        "RBF",
        RBF([1.0, 1.0, 1.0]),
        Columns(RBF(), [7]),
        Columns(RBF(), ["x"]),
        Columns(Categorical(), [0]),
        RBF() * WhiteKernel(),
        RBF() + WhiteKernel(),
        [RBF(), RBF()],
    ),
    "n_inducing": (0, 2.5, 1),
    "inducing": ("nearest", np.ones((3, 7)), np.full((2, 2), np.nan), np.empty((0, 2))),
    "optimize_inducing": ("yes",),
    "optimizer": ("sgd",),
    "init_size": (0,),
    "batch_size": (0,),
    "n_restarts_optimizer": (-1,),
    "max_iter": (0,),
    "max_steps": (0,),
    "max_time": (0.0,),
    "tol": (-1.0,),
    "n_iter_no_change": (0,),
    "learning_rate": (0.0,),
    "natural_step": (0.0, 1.5),
    "jitter": (-1.0, 2.0),
    "warm_start": ("yes",),
    "n_jobs": (0.5, 0),
    "random_state": ("seed",),
    "verbose": (-1,),
    "likelihood": ("cauchy", Probit(), Poisson(), "probit", 3),
    "noise_variance": (-1.0, [0.1, 0.2, 0.3], "small"),
    "noise_variance_bounds": ((1.0, 0.1), "free", (0.0, 1.0), (1.0,)),
    "normalize_y": ("log", (0.0, 0.0), (0.0, 1.0, 2.0), ("a", "b"), ([0.0, 1.0], 1.0)),
    "categorical_features": ([9], ["x"], [True], "by_name", [0]),
    "total_samples": (0, 1),
    "n_latent": (0, 2),
    "class_weight": ("even", {"a": -1.0}, {"unknown": 2.0}, {"a": 0.0}),
    "alpha_divergence": (-0.1, 1.5),
    "alpha_epsilon": (1e3, "small"),
    "model": ("exact", [("dtc", 0.5)], [("pic", 0.5), ("dtc", 0.5)], [], [("x", 1.0)]),
    "solver": ("fast",),
    "n_blocks": (0,),
    "block_size": (0, 100_000),
    "partition": ("grid", RBF()),
    "markov_order": (-1,),
    "n_neighbors": (-1,),
    "blocks_per_step": (0,),
    "schedule": ("none",),
    "step_size": (0.0,),
    "step_decay": (-1.0,),
    "step_power": (0.4,),
    "copy_X": (2,),
    "forget_factor": (0.0, 1.5),
    "old_posterior_power": (-0.1, 1.5, "none"),
    "trust_region": (0.0,),
    "min_inducing": (0, 50),
    "n_components": (0, 9),
    "noise": ("rows",),
    "normalize": ("yes",),
    "n_starts": (0,),
}
CHANGES = {
    "kernel": RBF(),
    "inducing": "random",
    "optimize_inducing": False,
    "jitter": 1e-3,
    "n_inducing": 4,
}

for _make, _table in MAKERS.items():
    _spoilt = [*spoilt.INPUTS]
    _spoilt += [] if _make is latent else [*spoilt.TARGETS, *spoilt.WEIGHTS]
    _life = {"n": 40, "later": (12,)}
    for _name in _spoilt:
        for _at in ("first", "later"):
            add(
                f"{_name} ({_at})",
                _make(max_iter=2),
                _table,
                spoilt=_name,
                spoilt_at=_at,
                **_life,
            )
    for _name in _make().get_params(deep=False):
        for _number, _value in enumerate(VALUES.get(_name, ())):
            add(f"{_name} refused {_number}", _make(**{"max_iter": 2, _name: _value}), _table, n=40)
    for _name, _value in CHANGES.items():
        add(f"{_name} changed", _make(max_iter=2), _table, changes={_name: _value}, **_life)
