"""Small models that are stored in tests/saved with what they predict.

``python tests/saved_models.py`` writes them anew, after ``SAVED_FORMAT`` has been raised.
"""

import pickle
import warnings
from pathlib import Path

import numpy as np

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp._version import SAVED_FORMAT

FOLDER = Path(__file__).with_name("saved")
X = np.linspace(-2.0, 2.0, 24).reshape(12, 2) ** 3 % 1.7
NUMBERS = np.sin(3.0 * X[:, 0]) + X[:, 1]
WORDS = np.where(NUMBERS > np.median(NUMBERS), "high", "low")
SMALL = {"n_inducing": 4, "max_iter": 3, "random_state": 0, "n_jobs": 1}
MODELS = {
    "svgp": (SVGPRegressor(**SMALL), NUMBERS),
    "svgp_student_t": (SVGPRegressor(likelihood="student_t", **SMALL), NUMBERS),
    "svgp_classifier": (SVGPClassifier(**SMALL), WORDS),
    "anytime": (AnytimeSGPRegressor(n_neighbors=4, **SMALL), NUMBERS),
    "anytime_pic": (AnytimeSGPRegressor(model="pic", block_size=6, **SMALL), NUMBERS),
    "anytime_classifier": (AnytimeSGPClassifier(n_neighbors=4, **SMALL), WORDS),
    "stream": (StreamingSGPRegressor(**SMALL), NUMBERS),
    "stream_of_classes": (StreamingSGPClassifier(**SMALL), WORDS),
    "latent": (BayesianGPLVM(**SMALL), None),
}


def answers(model):
    """What a model says of the rows, as one array."""
    if hasattr(model, "transform"):
        return np.hstack(model.transform(X, return_std=True))
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return np.column_stack(model.predict(X, return_std=True))


def write():
    """Fit all models, and store them with their answers."""
    FOLDER.mkdir(exist_ok=True)
    said = {}
    for name, (model, y) in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        (FOLDER / f"{name}.pkl").write_bytes(pickle.dumps(model, protocol=4))
        said[name] = answers(model)
    np.savez(FOLDER / "answers.npz", format=SAVED_FORMAT, **said)


if __name__ == "__main__":
    write()
