"""The machine and the versions that the figures depend on."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def hardware():
    """What the figures depend on, as data."""
    from threadpoolctl import threadpool_info

    from sklearn_sgp import SVGPRegressor  # noqa: F401  (loads the BLAS that is asked about)

    names = ("numpy", "scipy", "scikit-learn", "joblib")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory_gb(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in names} | {"sklearn_sgp": _own_version()},
        "blas": [
            f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}, "
            f"{pool['num_threads']} threads"
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ],
    }


def _own_version():
    import sklearn_sgp

    where = Path(sklearn_sgp.__file__).resolve().parent
    command = ["git", "-C", str(where), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return sklearn_sgp.__version__
    return f"{sklearn_sgp.__version__} ({done.stdout.strip()})"


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def _memory_gb():
    if not hasattr(os, "sysconf"):
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
