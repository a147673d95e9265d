"""The machine and the versions that the figures depend on."""

import hashlib
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def commit(top):
    """The commit of a clone; after a + a hash of what was changed since, if anything was.

    What the benchmarks write themselves, their page and their results, counts for nothing.
    """
    written = (":!benchmarks/README.md", ":!benchmarks/results")
    head = _git(top, "rev-parse", "HEAD")
    if head is None:
        return "unknown (no git)"
    changes = _git(top, "diff", "HEAD", "--", ".", *written) or ""
    new = _git(top, "ls-files", "--others", "--exclude-standard", "--", ".", *written) or ""
    for name in new.splitlines():
        changes += hashlib.sha256((Path(top) / name).read_bytes()).hexdigest()
    if not changes:
        return head
    return f"{head}+{hashlib.sha256(changes.encode()).hexdigest()[:8]}"


def _git(top, *arguments):
    """What git says, or None."""
    try:
        done = subprocess.run(
            ["git", "-C", str(top), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


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

    return sklearn_sgp.__version__


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
