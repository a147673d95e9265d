"""Libraries that take scikit-learn's estimators, each given one of this package.

``python benchmarks/clients.py`` runs those that are installed, each in a second or some, and prints
their versions and what they did; ``python benchmarks/clients.py shap mapie`` runs some. It ends
with 1 if one failed.
"""

import importlib.metadata
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_sgp import TRUSTED_TYPES, AnytimeSGPRegressor, SVGPClassifier, SVGPRegressor

RNG = np.random.default_rng(0)
NAMES = ["hour", "place", "rest"]
X = RNG.uniform(0, 3, (120, 3))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + RNG.normal(0, 0.1, 120)
WORDS = np.where(Y > np.median(Y), "high", "low")
FRAME = pd.DataFrame(X, columns=NAMES)
SMALL = {"n_inducing": 20, "max_iter": 50, "random_state": 0}
CLIENTS = {}  # by name of the distribution


def client(name, broken=None):
    """Register what a library is asked to do; ``broken`` says what it cannot do for anyone."""

    def register(run):
        CLIENTS[name] = run, broken
        return run

    return register


def regressor(X=X, y=Y):
    return SVGPRegressor(**SMALL).fit(X, y)


def classifier(X=X, y=WORDS):
    return SVGPClassifier(**SMALL).fit(X, y)


def surrogate():
    kernel = ConstantKernel() * Matern([0.3, 0.3], (0.05, 10.0), nu=2.5)
    return SVGPRegressor(kernel, include_noise=False, warm_start=True, **SMALL)


def cost(place):
    """What optimisers make small; 0 at (0.3, 0.6)."""
    return (place[0] - 0.3) ** 2 + (place[1] - 0.6) ** 2


# ---- Saving


@client("skops")
def skops():
    import skops.io

    model = SVGPRegressor(normalize_y="warped", **SMALL).fit(X, np.exp(Y))
    loaded = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED_TYPES)
    assert (loaded.predict(X) == model.predict(X)).all()
    return "a model with a learned warp, saved and loaded"


@client("mlflow")
def mlflow():
    import mlflow.sklearn

    model, path = regressor(), Path(tempfile.mkdtemp()) / "model"
    mlflow.sklearn.save_model(model, path, skops_trusted_types=TRUSTED_TYPES)
    assert (mlflow.sklearn.load_model(path).predict(X) == model.predict(X)).all()
    return "saved by its default, and loaded"


@client("cloudpickle")
def cloudpickle():
    import cloudpickle

    model = regressor()
    assert (cloudpickle.loads(cloudpickle.dumps(model)).predict(X) == model.predict(X)).all()
    return "saved and loaded"


# ---- Search


@client("scikit-optimize")
def skopt():
    from skopt import Optimizer

    found = []
    for way in ("auto", "sampling"):  # the first follows gradients of mean and deviation
        optimizer = Optimizer(
            [(0.0, 1.0)] * 2, surrogate(), n_initial_points=8, acq_optimizer=way, random_state=0
        )
        for _ in range(16):
            place = optimizer.ask()
            result = optimizer.tell(place, cost(place))
        found.append(f"{result.fun:.4f}")
    return f"lowest costs {' (with gradients), '.join(found)} of 16"


@client("bayesian-optimization")
def bayes_opt():
    from bayes_opt import BayesianOptimization

    bounds = {"a": (0, 1), "b": (0, 1)}
    optimizer = BayesianOptimization(lambda a, b: -cost([a, b]), bounds, random_state=0, verbose=0)
    optimizer._gp = surrogate()
    optimizer.maximize(init_points=8, n_iter=8)
    return f"lowest cost {-optimizer.max['target']:.4f} of 16"


@client("optuna")
def optuna():
    import optuna

    class Sampler(optuna.samplers.RandomSampler):
        def infer_relative_search_space(self, study, trial):
            return optuna.search_space.intersection_search_space(study.get_trials())

        def sample_relative(self, study, trial, space):
            done = [one for one in study.get_trials() if one.value is not None]
            if len(done) < 8:
                return {}
            low = np.array([space[name].low for name in space])
            width = np.array([space[name].high for name in space]) - low
            tried = (np.array([[one.params[name] for name in space] for one in done]) - low) / width
            values = np.array([one.value for one in done])
            model, places = surrogate().fit(tried, values), RNG.uniform(size=(1000, len(space)))
            mean, std = model.predict(places, return_std=True)
            gain = values.min() - mean
            best = places[np.argmax(gain * norm.cdf(gain / std) + std * norm.pdf(gain / std))]
            return dict(zip(space, (low + best * width).tolist(), strict=True))

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=Sampler(seed=0))
    study.optimize(lambda t: cost([t.suggest_float("a", 0, 1), t.suggest_float("b", 0, 1)]), 16)
    return f"lowest cost {study.best_value:.4f} of 16"


@client("hyperopt")
def hyperopt():
    from hyperopt import fmin, hp, tpe

    def error(noise):
        return (
            -SVGPRegressor(noise_variance=noise, **SMALL).fit(X[:80], Y[:80]).score(X[80:], Y[80:])
        )

    space = hp.loguniform("noise", -6, 0)
    rng = np.random.default_rng(0)
    best = fmin(error, space, tpe.suggest, 4, rstate=rng, show_progressbar=False, verbose=False)
    return f"a start of the noise, {best['noise']:.3f}"


@client("dask-ml")
def dask_ml():
    from dask_ml.model_selection import GridSearchCV as Search

    search = Search(SVGPRegressor(**SMALL), {"n_inducing": [10, 20]}, cv=2).fit(X, Y)
    return f"a grid of inducing inputs, score {search.best_score_:.2f}"


@client("flaml")
def flaml():
    from flaml import tune

    def score(config):
        model = SVGPRegressor(n_inducing=config["m"], max_iter=20, random_state=0)
        return {"score": model.fit(X[:80], Y[:80]).score(X[80:], Y[80:])}

    space = {"m": tune.randint(5, 30)}
    found = tune.run(score, config=space, metric="score", mode="max", num_samples=4, verbose=0)
    return f"inducing inputs by tune.run, {found.best_config['m']}"


# ---- Active learning


@client("modAL-python", broken="force_all_finite")
def modal():
    from modAL.acquisition import max_EI
    from modAL.models import BayesianOptimizer

    places = RNG.uniform(size=(100, 2))
    learner = BayesianOptimizer(
        estimator=surrogate(),
        X_training=places[:8],
        y_training=np.array([-cost(place) for place in places[:8]]),
        query_strategy=max_EI,
    )
    index, place = learner.query(places)
    learner.teach(place, [-cost(place[0])])
    return f"a place by expected improvement, {index}"


@client("scikit-activeml")
def skactiveml():
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling

    model = classifier(X[:30], WORDS[:30])
    wrapped = SklearnClassifier(model, classes=["high", "low"], missing_label=None)
    labels = np.full(len(X), None, dtype=object)
    labels[:30] = WORDS[:30]
    asked = UncertaintySampling(missing_label=None, random_state=0)
    return f"row {asked.query(X, labels, wrapped)[0]} is asked for"


# ---- Intervals


@client("mapie")
def mapie():
    from mapie.regression import SplitConformalRegressor

    conformal = SplitConformalRegressor(regressor(X[:60], Y[:60]), confidence_level=0.9)
    _, band = conformal.conformalize(X[60:90], Y[60:90]).predict_interval(X[90:])
    inside = np.mean((band[:, 0, 0] <= Y[90:]) & (Y[90:] <= band[:, 1, 0]))
    return f"{100 * inside:.0f} % of new rows in a conformal band of 90 %"


@client("crepes")
def crepes():
    from crepes import WrapRegressor

    wrapped = WrapRegressor(regressor(X[:60], Y[:60]))
    wrapped.calibrate(X[60:90], Y[60:90])
    low, high = wrapped.predict_int(X[90:], confidence=0.9).T
    inside = np.mean((low <= Y[90:]) & (Y[90:] <= high))
    return f"{100 * inside:.0f} % of new rows in a conformal band of 90 %"


# ---- What was learned


@client("shap")
def shap():
    import shap

    explainer = shap.Explainer(regressor().predict, X[:20])
    values = explainer(X[:5]).values
    return f"values of five rows, the largest of {NAMES[np.abs(values).mean(axis=0).argmax()]}"


@client("eli5")
def eli5():
    from eli5.sklearn import PermutationImportance

    found = PermutationImportance(regressor(), random_state=0).fit(X, Y).feature_importances_
    return f"permutation importances, the largest of {NAMES[found.argmax()]}"


@client("dalex")
def dalex():
    import dalex

    explained = dalex.Explainer(regressor(FRAME), FRAME, Y, verbose=False)
    result = explained.model_parts(B=2, random_state=0).result
    return f"loss by dropped columns, the largest of {result.variable.iloc[-2]}"


@client("interpret-core")
def interpret():
    from interpret.blackbox import PartialDependence

    PartialDependence(regressor(), FRAME).explain_global()
    return "partial dependence"


@client("PyALE")
def pyale():
    from PyALE import ale

    effect = ale(FRAME, regressor(FRAME), ["hour"], grid_size=10, plot=False, include_CI=False)
    return f"accumulated effects at {len(effect)} values"


@client("SALib")
def salib():
    from SALib.analyze import sobol
    from SALib.sample import sobol as places

    problem = {"num_vars": 3, "names": NAMES, "bounds": [[0, 3]] * 3}
    found = sobol.analyze(problem, regressor().predict(places.sample(problem, 64)), seed=0)
    return f"Sobol indices of the surrogate, {np.round(found['S1'], 1)}"


@client("dice-ml")
def dice():
    import dice_ml

    table = FRAME.assign(label=(WORDS == "high").astype(int))
    data = dice_ml.Data(dataframe=table, continuous_features=NAMES, outcome_name="label")
    model = dice_ml.Model(model=classifier(FRAME, table.label), backend="sklearn")
    found = dice_ml.Dice(data, model, method="random").generate_counterfactuals(
        FRAME[:1], 2, "opposite", random_seed=0, verbose=False
    )
    return f"{len(found.cf_examples_list[0].final_cfs_df)} counterfactual rows"


# ---- Columns, labels, groups


@client("skrub")
def skrub():
    from skrub import TableVectorizer

    table = FRAME.assign(when=pd.date_range("2024-01-01", periods=120, freq="7h"), word=WORDS)
    model = make_pipeline(TableVectorizer(), SVGPRegressor(**SMALL)).fit(table, Y)
    return f"dates and words by TableVectorizer, R2 {model.score(table, Y):.2f}"


@client("feature-engine")
def feature_engine():
    from feature_engine.creation import CyclicalFeatures

    steps = CyclicalFeatures(["hour"], max_values={"hour": 3}), SVGPRegressor(**SMALL)
    return f"cyclic columns, R2 {make_pipeline(*steps).fit(FRAME, Y).score(FRAME, Y):.2f}"


@client("category_encoders")
def category_encoders():
    from category_encoders import TargetEncoder

    table = FRAME.assign(word=WORDS)
    model = make_pipeline(TargetEncoder(), SVGPRegressor(**SMALL)).fit(table, Y)
    return f"encoded words, R2 {model.score(table, Y):.2f}"


@client("imbalanced-learn")
def imblearn():
    from imblearn.over_sampling import RandomOverSampler
    from imblearn.pipeline import make_pipeline as pipeline

    model = pipeline(RandomOverSampler(random_state=0), SVGPClassifier(**SMALL))
    return f"rows drawn again, accuracy {model.fit(X[10:], WORDS[10:]).score(X, WORDS):.2f}"


@client("mlxtend")
def mlxtend():
    from mlxtend.feature_selection import SequentialFeatureSelector

    model = SVGPRegressor(n_inducing=10, max_iter=20, random_state=0)
    found = SequentialFeatureSelector(model, k_features=2, cv=2).fit(X, Y)
    return f"two columns, {found.k_feature_idx_}"


@client("scikit-lego")
def sklego():
    from sklego.meta import GroupedPredictor

    table = FRAME.assign(half=(X[:, 1] > 1.5).astype(int))
    model = GroupedPredictor(SVGPRegressor(**SMALL), groups=["half"]).fit(table, Y)
    return f"a model for each group, R2 {r2_score(Y, model.predict(table)):.2f}"


@client("cleanlab")
def cleanlab():
    from cleanlab.filter import find_label_issues
    from sklearn.model_selection import cross_val_predict

    said = cross_val_predict(SVGPClassifier(**SMALL), X, WORDS, cv=3, method="predict_proba")
    issues = find_label_issues((WORDS == "low").astype(int), said)
    return f"{issues.sum()} labels that may be wrong"


@client("fairlearn")
def fairlearn():
    from fairlearn.postprocessing import ThresholdOptimizer

    labels, group = (WORDS == "high").astype(int), X[:, 1] > 1.5
    model = SVGPClassifier(**SMALL)
    fair = ThresholdOptimizer(estimator=model, predict_method="predict_proba")
    fair.fit(X, labels, sensitive_features=group)
    said = fair.predict(X, sensitive_features=group, random_state=0)
    return f"thresholds by group, accuracy {np.mean(said == labels):.2f}"


# ---- Causes and series


@client("econml")
def econml():
    from econml.dml import LinearDML

    treatment = X[:, 0] + RNG.normal(size=120)
    model = LinearDML(
        model_y=SVGPRegressor(**SMALL), model_t=SVGPRegressor(**SMALL), cv=2, random_state=0
    )
    model.fit(2 * treatment + Y, treatment, W=X)
    return f"an effect of {np.ravel(model.const_marginal_effect())[0]:.1f} (2.0)"


@client("doubleml")
def doubleml():
    from doubleml import DoubleMLData, DoubleMLPLR

    treatment = X[:, 0] + RNG.normal(size=120)
    data = DoubleMLData.from_arrays(X, 2 * treatment + Y, treatment)
    model = DoubleMLPLR(data, SVGPRegressor(**SMALL), SVGPRegressor(**SMALL), n_folds=2).fit()
    return f"an effect of {model.coef[0]:.1f} (2.0)"


@client("skforecast")
def skforecast():
    from skforecast.recursive import ForecasterRecursive

    series = pd.Series(np.sin(np.arange(80) / 3) + RNG.normal(0, 0.05, 80))
    model = ForecasterRecursive(SVGPRegressor(**SMALL), lags=10)
    model.fit(series)
    said = model.predict(3)
    return f"a forecast, off by {np.abs(said - np.sin(said.index / 3)).max():.2f}"


# ---- scikit-learn's own, for which nothing needs to be installed


@client("scikit-learn")
def scikit_learn():
    model = make_pipeline(StandardScaler(), AnytimeSGPRegressor(**SMALL))
    search = GridSearchCV(model, {"anytimesgpregressor__kernel": [RBF(), None]}, cv=2).fit(X, Y)
    low, high = search.best_estimator_.predict(X, quantiles=[0.05, 0.95]).T
    return f"a search's pipeline, {100 * np.mean((low <= Y) & (Y <= high)):.0f} % in bands of 90 %"


def outcome(name):
    """What one client did: words, and whether they tell of a failure."""
    run, broken = CLIENTS[name]
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name}: not installed", False
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = run()
    except Exception as error:
        if broken and broken in str(error):
            return f"{name} {version}: broken for every estimator: {error}", False
        traceback.print_exc()
        return f"{name} {version}: FAILED: {type(error).__name__}: {error}", True
    return f"{name} {version}: {said} ({time.perf_counter() - begin:.1f} s)", False


def main(names):
    unknown = sorted(set(names) - set(CLIENTS))
    if unknown:
        raise SystemExit(f"Names must be among {', '.join(CLIENTS)}. Got {', '.join(unknown)}.")
    outcomes = []
    for name in names or CLIENTS:
        words, failed = outcome(name)
        print(words, flush=True)
        outcomes.append(failed)
    return int(any(outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
