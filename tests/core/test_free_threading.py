"""No compiled module switches the GIL on, where an interpreter has it off."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import sklearn_sgp

CORE = Path(sklearn_sgp.__file__).parent / "_core"
MODULES = [*sorted(path.stem for path in CORE.glob("_*.pyx")), "_shared"]
MARK = re.compile(r"#else\s+#define __Pyx_FREETHREADING_COMPATIBLE Py_MOD_GIL_NOT_USED\s+#endif")


@pytest.mark.parametrize("name", MODULES)
def test_modules_say_that_they_need_no_gil(name):
    """What Cython wrote has the mark that Python looks for when it imports a module."""
    source = CORE / f"{name}.c"
    if not source.exists():
        pytest.skip("the C files that Cython writes are not here")
    written = source.read_text(encoding="utf-8")
    assert "{Py_mod_gil, __Pyx_FREETHREADING_COMPATIBLE}" in written
    assert MARK.search(written)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="Python has a GIL")
def test_importing_leaves_the_gil_off():
    """An interpreter without a GIL warns, and switches it on, for modules without the mark."""
    command = "import sys, sklearn_sgp; assert not sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-W", "error", "-c", command], check=True)
