"""What a report of an error should tell about the installation."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

from ._version import __version__

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "joblib",
    "threadpoolctl",
    "Cython",
    "pandas",
    "polars",
    "matplotlib",
    "dask",
    "distributed",
    "rich",
)


def show_versions() -> None:
    """Print versions, system and BLAS libraries, for reports of errors.

    Examples
    --------
    >>> import sklearn_sgp
    >>> sklearn_sgp.show_versions()
    sklearn_sgp: ...
    """
    print(f"sklearn_sgp: {__version__}")
    print(f"python: {' '.join(sys.version.split())}")
    print(f"system: {platform.platform()}, {platform.machine()}")
    for package in PACKAGES:
        print(f"{package}: {_version_of(package)}")
    for pool in threadpool_info():
        details = [pool["version"], pool.get("architecture"), f"{pool['num_threads']} threads"]
        print(f"{pool['internal_api']}: {', '.join(str(d) for d in details if d)}")


def _version_of(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
