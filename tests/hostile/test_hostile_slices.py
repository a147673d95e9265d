"""Slices of the long runs: streams, random shapes, and a little soak."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.hostile
HERE = Path(__file__).parent
SLICES = {
    "streams": ["streams.py", "--streams", "8", "--classes", "4", "--seed", "2000"],
    "pool": ["pool.py", "--turns", "2000"],
    "shapes": ["shapes.py", "--shapes", "40"],
    "cases": ["run.py", "--cases", "50", "--seed", "7000"],
}


@pytest.mark.parametrize("name", SLICES)
def test_slice(name):
    """The script ends well."""
    script, *options = SLICES[name]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / script), *options],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
