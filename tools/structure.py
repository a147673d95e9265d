"""Print the figures of the package's structure: what its estimators are made of, and do.

    python tools/structure.py            tables
    python tools/structure.py --json     the same, for a comparison of two checkouts

Run it in the root of the checkout that is to be measured: that one is imported. Only public
estimators are used, on 60 rows with two iterations and ten inducing inputs, and in this order, as
the first calls of a process also fill its caches.

How a trip, such as one `fit`, is counted:

files, functions
    Distinct ones that were entered. Comprehensions, generator expressions and lambdas are no
    functions, and modules that are imported on the way are not entered.
depth
    The deepest stack, in functions of the package, from the public method on.
jumps
    Calls from a method of one class to a method that another class defines, of the same `self`.
    The caller is the nearest function of the package that has a `self`, closures included.
    Distinct pairs of caller and callee are counted, as one sees them in the code.
    *own*: `self` is the estimator, and both are methods: what inheritance costs.
    *every*: `self` may be anything, as a kernel with a base class, and the caller a decorator.
climbs
    Calls from a lower package into `estimators`, in distinct pairs; see `is_climb`. `on_iteration`
    and what it calls are left out.
upward
    Calls from any layer to a higher one of tests/test_layers.py, in distinct pairs.
"""

import argparse
import ast
import importlib
import inspect
import json
import os
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import NamedTuple

PACKAGE = "sklearn_sgp"
TOP = "estimators"
# May call estimators, as users do.
ABOVE = {TOP, "plotting", "__init__"}
# Handed down by a fit, and called from below.
PROGRESS = "on_iteration"
# Wraps public methods, and calls nothing by itself: who calls it calls the method.
WRAPPER = "_floating_point.py"
# What scikit-learn asks an estimator itself, wherever scikit-learn was called from.
PROTOCOL = {
    "__getstate__",
    "__repr__",
    "__setstate__",
    "__sklearn_is_fitted__",
    "__sklearn_tags__",
    "get_params",
}
# Names of what some models have and others lack, without leading underscores.
FEATURES = {
    "mixed outputs": {"n_latent", "mixing", "means"},
    "warps": {"warps", "warp"},
    "categories": {
        "category_codes", "codes", "categories", "categorical", "categorical_features",
    },
    "noise of rows and outputs": {
        "row_noise", "noise", "log_noise", "spread",
        "scale_function", "variance_scale", "heteroscedastic", "rescaled",
    },
    "blocks": {"blocks", "labels", "block_column", "block_labels"},
    "observed": {"observed"},
}  # fmt: skip
SUFFIXES = (".py", ".pyi", ".pyx", ".c", ".h")


# ---- Calls


def top_of(path):
    """Return the first name of a path below the package: a package, or a module of the root."""
    return path.split("/")[0].removesuffix(".py")


def is_climb(caller, callee, name="", by_sklearn=False):
    """Return whether a call goes from a lower package to one of the estimators.

    Parameters
    ----------
    caller, callee : str
        Files below the package, such as "gp/prior.py". The caller is the nearest one on the stack
        that belongs to the package.
    name : str
        Name of the function that is called.
    by_sklearn : bool
        Whether scikit-learn stands between the two, and makes the call.
    """
    if by_sklearn and name in PROTOCOL:
        return False
    return top_of(callee) == TOP and top_of(caller) not in ABOVE


def self_of(frame):
    """Return the `self` of a method or of a closure in one, or None."""
    code = frame.f_code
    if "self" in code.co_varnames[:1] or "self" in code.co_freevars:
        return frame.f_locals.get("self")
    return None


def class_of(code):
    """Return file and name of the class that defines a method; the name of others is None."""
    names = code.co_qualname.split(".<locals>")[0].split(".")
    return code.co_filename, names[0] if len(names) > 1 else None


def is_named(frame):
    return not frame.f_code.co_name.startswith("<")


class Call(NamedTuple):
    """A call that has not returned: its `self` or None, and how many functions wait, itself too."""

    frame: FrameType
    this: object
    depth: int


class Calls:
    """What happens between the calls of one trip.

    Attributes
    ----------
    files, functions : set
    depth : int
    own_jumps, jumps, climbs, upward : Counter
        Numbers of calls by caller and callee; of jumps where there is an ``estimator``.
    """

    def __init__(self, estimator=None, ranks=None):
        self.files, self.functions, self.depth = set(), set(), 0
        self.own_jumps, self.jumps = Counter(), Counter()
        self.climbs, self.upward = Counter(), Counter()
        self._estimator, self._ranks, self._paths = estimator, ranks or {}, {}
        self._downward = set()  # ways that are known to be no climb
        self._root = os.path.dirname(importlib.import_module(PACKAGE).__file__) + os.sep
        self._sklearn = os.path.dirname(importlib.import_module("sklearn").__file__) + os.sep

    def of(self, action):
        """Record the calls of an action, in all threads that it starts."""
        before, self._done, self._threads = sys.getprofile(), False, threading.local()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            action()
        finally:
            self._done = True
            sys.setprofile(before)
            threading.setprofile(None)
        return self

    def path(self, frame):
        """Return the file of a frame below the package, "" outside of it."""
        name = frame.f_code.co_filename
        if name not in self._paths:
            inside = name.startswith(self._root)
            self._paths[name] = name[len(self._root) :].replace(os.sep, "/") if inside else ""
        return self._paths[name]

    def _profile(self, frame, event, argument):
        if self._done:  # in a thread that outlives the action
            sys.setprofile(None)
        elif event == "call":
            if self.path(frame) not in ("", WRAPPER):
                self._enter(frame)
        elif event == "return":
            below = self._below()
            if below and below[-1].frame is frame:
                below.pop()

    def _below(self):
        """Return the calls of the package that this thread stands on, nearest last."""
        return self._threads.__dict__.setdefault("below", [])

    def _enter(self, frame):
        below = self._below()
        depth = is_named(frame) + (below[-1].depth if below else 0)
        this = None if self._estimator is None else self_of(frame)  # it takes half of the time
        call = Call(frame, this, depth)
        if frame.f_code.co_name != "<module>":
            self._count(call)
            if below:
                self._count_climbs(call, below)
                self._count_jumps(call, below)
        below.append(call)

    def _count(self, call):
        self.files.add(self.path(call.frame))
        if is_named(call.frame):
            code = call.frame.f_code
            self.functions.add((code.co_filename, code.co_firstlineno, code.co_name))
            self.depth = max(self.depth, call.depth)

    def _count_climbs(self, call, below):
        frame, nearest = call.frame, below[-1].frame
        caller, callee, name = self.path(nearest), self.path(frame), frame.f_code.co_name
        by_sklearn = frame.f_back.f_code.co_filename.startswith(self._sklearn)
        way = caller, callee, name, by_sklearn
        if way in self._downward:
            return
        rank, over = (self._ranks.get(top_of(path), -1) for path in (caller, callee))
        if 0 <= rank < over:
            self.upward[self._pair(nearest, frame)] += 1
        if not is_climb(caller, callee, name, by_sklearn):
            if not 0 <= rank < over:
                self._downward.add(way)
            return
        if not any(one.frame.f_code.co_name == PROGRESS for one in (call, *below)):
            self.climbs[self._pair(nearest, frame)] += 1

    def _count_jumps(self, call, below):
        if call.this is None:
            return
        caller = next((one for one in reversed(below) if one.this is not None), None)
        if caller is None or caller.this is not call.this:
            return
        before, now = class_of(caller.frame.f_code), class_of(call.frame.f_code)
        if before == now or before[1] == now[1] is None:
            return
        pair = self._pair(caller.frame, call.frame)
        self.jumps[pair] += 1
        if call.this is self._estimator and before[1] and now[1]:
            self.own_jumps[pair] += 1

    def _pair(self, caller, callee):
        return self._name(caller), self._name(callee)

    def _name(self, frame):
        return f"{self.path(frame)}:{frame.f_code.co_qualname}"


# ---- Classes


def public_estimators():
    """Return the estimators that the package exports."""
    package = importlib.import_module(PACKAGE)
    public = (getattr(package, name) for name in package.__all__)
    return [one for one in public if inspect.isclass(one) and hasattr(one, "get_params")]


def house_classes(estimator):
    """Return the classes of the package in an MRO: those of weight, and the small ones.

    Small ones are those of private modules of the root, for pickles, links and callbacks.
    """
    own = [one for one in estimator.__mro__ if one.__module__.split(".")[0] == PACKAGE]
    small = [one for one in own if one.__module__.startswith(f"{PACKAGE}._")]
    return [one for one in own if one not in small], small


def bases_of(estimators):
    """Return the classes of the package that estimators inherit from, small ones included."""
    inherited = {one for each in estimators for part in house_classes(each) for one in part}
    return inherited - set(estimators)


# ---- Trips


def table(n=60):
    """Return inputs (n, 2), targets (n,) and labels of two classes (n,)."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = 5.0 + 3.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, y, (y > 5.0).astype(int)


def data_for(model):
    """Return what a model is fitted to: inputs and targets, or a table of outputs."""
    import numpy as np
    from sklearn.base import is_classifier

    X, y, labels = table()
    if hasattr(model, "transform"):
        return (np.column_stack([X, y, y**2]),)
    return X, labels if is_classifier(model) else y


def answers_of(model, X):
    """Predict, with standard deviations where the estimator has them beside its predictions."""
    method = getattr(model, "transform", None) or model.predict
    with_std = "return_std" in inspect.signature(method).parameters
    return method(X, return_std=True) if with_std else method(X)


def trips(make, ranks=None):
    """Return the calls of a fit, a prediction and a later batch of a new model, by name."""
    model = make(max_iter=2, n_inducing=10, random_state=0)
    data = data_for(model)
    actions = {
        "fit": lambda: model.fit(*data),
        "predict": lambda: answers_of(model, data[0]),
        "partial_fit": lambda: model.partial_fit(*(part[:20] for part in data)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for action in actions.values():  # tables that a process makes once are no part of a trip
            action()
        return {name: Calls(model, ranks).of(action) for name, action in actions.items()}


def measured_models():
    """Return what is measured: every estimator, and the longest of all fits."""
    models = {one.__name__: one for one in public_estimators()}
    auto = models["AnytimeSGPRegressor"]
    return models | {"AnytimeSGPRegressor, auto": lambda **more: auto(likelihood="auto", **more)}


def figures(calls):
    return {
        "files": len(calls.files),
        "functions": len(calls.functions),
        "depth": calls.depth,
        "own jumps": len(calls.own_jumps),
        "(calls)": calls.own_jumps.total(),
        "every jump": len(calls.jumps),
        "climbs": len(calls.climbs),
        "upward": len(calls.upward),
    }


# ---- Files


def layer_ranks(root):
    """Return ranks of packages, lowest first, as tests/test_layers.py lists them."""
    path = root / "tests" / "test_layers.py"
    if not path.exists():
        return {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "LAYERS":
            layers = ast.literal_eval(node.value)
            return {name: rank for rank, names in enumerate(layers) for name in names}
    return {}


def source_files(package):
    """Return the files of a package that are written by hand."""
    files = (path for path in package.rglob("*") if path.suffix in SUFFIXES)
    return sorted(p for p in files if p.suffix != ".c" or not p.with_suffix(".pyx").exists())


def size_figures(package):
    """Count folders, files and lines; a nested package stands in another one."""
    folders = [path.parent.relative_to(package).parts for path in package.rglob("__init__.py")]
    lines = {
        path.relative_to(package).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in source_files(package)
    }
    longest = max(lines, key=lines.get)
    python = [count for name, count in lines.items() if name.endswith(".py")]
    return {
        "sub-packages of the package": sum(len(parts) == 1 for parts in folders),
        "sub-packages within these": sum(len(parts) > 1 for parts in folders),
        "sub-packages in all": sum(len(parts) > 0 for parts in folders),
        "Python files": len(python),
        "files": len(lines),
        "lines of Python": sum(python),
        "lines": sum(lines.values()),
        "longest file": f"{longest}, {lines[longest]}",
        "files above 350 lines": sum(count > 350 for count in lines.values()),
    }


def last_name(node):
    """Return the last name of an expression without leading underscores, or None.

    `getattr(self, "_warps", None)` and `settings["warps"]` have the name that they ask for.
    """
    if isinstance(node, ast.NamedExpr):
        node = node.target
    if isinstance(node, ast.Subscript):
        node = node.slice
    if isinstance(node, ast.Call) and len(node.args) > 1:
        node = node.args[1] if getattr(node.func, "id", None) == "getattr" else node
    for attribute in ("attr", "id", "value"):
        name = getattr(node, attribute, None)
        if isinstance(name, str):
            return name.lstrip("_")
    return None


def names_compared_to_none(tree):
    """Yield the last name of whatever a module compares to None."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            other = node.comparators[0]
            if isinstance(other, ast.Constant) and other.value is None:
                yield last_name(node.left)


def tests_for_none(package):
    """Return, by feature, how often each module asks whether it is there."""
    asked = {feature: {} for feature in FEATURES}
    for path in sorted(package.rglob("*.py")):
        names = Counter(names_compared_to_none(ast.parse(path.read_text(encoding="utf-8"))))
        for feature, words in FEATURES.items():
            count = sum(names[word] for word in words)
            if count:
                asked[feature][path.relative_to(package).as_posix()] = count
    return asked


# ---- Report


def report(root):
    """Return all figures of a checkout as one dictionary."""
    package, ranks, public = root / PACKAGE, layer_ranks(root), public_estimators()
    measured = {name: trips(make, ranks) for name, make in measured_models().items()}
    return {
        "classes": {one.__name__: [len(part) for part in house_classes(one)] for one in public},
        "bases": sorted(f"{one.__module__}.{one.__name__}" for one in bases_of(public)),
        "trips": {
            f"{name}.{trip}": figures(calls)
            for name, by_trip in measured.items()
            for trip, calls in by_trip.items()
        },
        "size": size_figures(package),
        "tests for None": tests_for_none(package),
    }


def columns(heads, rows):
    """Return rows as lines, with numbers below their heads."""
    wide = max(len(row[0]) for row in rows)
    lines = [f"{'':{wide}}" + "".join(f"  {head:>6}" for head in heads)]
    for name, *cells in rows:
        numbers = zip(heads, cells, strict=True)
        lines.append(f"{name:{wide}}" + "".join(f"  {n:>{max(6, len(h))}}" for h, n in numbers))
    return "\n".join(lines)


def as_text(told):
    """Return a report as tables."""
    classes = [(name, *counts, sum(counts)) for name, counts in told["classes"].items()]
    heads = next(iter(told["trips"].values())).keys()
    by_trip = [(name, *counts.values()) for name, counts in told["trips"].items()]
    size = "\n".join(f"{name:28} {value}" for name, value in told["size"].items())
    asked = told["tests for None"]
    features = [(name, len(found), sum(found.values())) for name, found in asked.items()]
    modules = {module for found in asked.values() for module in found}
    total = ("sum", sum(row[1] for row in features), sum(row[2] for row in features))
    parts = {
        "Classes of the package in the MRO": columns(["large", "small", "all"], classes),
        f"Mixins and bases behind all: {len(told['bases'])}": "\n".join(told["bases"]),
        "Trips": columns(list(heads), by_trip),
        "Size": size,
        "Modules that ask for None, and how often": columns(
            ["modules", "tests"], features + [total]
        ),
        f"Of these, different modules: {len(modules)}": "\n".join(
            f"{name}: " + ", ".join(f"{module} {count}" for module, count in found.items())
            for name, found in asked.items()
        ),
    }
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in parts.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print a dictionary")
    as_json = parser.parse_args().json
    root = Path.cwd()
    sys.path.insert(0, str(root))
    told = report(root)
    print(json.dumps(told, indent=1) if as_json else as_text(told))


if __name__ == "__main__":
    main()
