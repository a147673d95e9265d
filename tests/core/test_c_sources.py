"""The C files themselves: no undefined behaviour, and nothing that Visual C does not take."""

import shutil
import subprocess
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "sklearn_sgp" / "_core"
COMPILER = shutil.which("gcc") or shutil.which("clang")

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C compiler here"),
    pytest.mark.skipif(not (CORE / "simd.h").exists(), reason="the C files are not here"),
]

_EXPONENTIAL = """
#include "simd.h"
#include <math.h>
#include <stdio.h>
int main(void) {
    double worst = 0.0;
    for (int k = 0; k <= 1000; ++k) {
        const double x = -0.7 * k, off = fabs(exp_neg(x) / exp(x) - 1.0);
        if (off > worst) worst = off;
    }
    uint64_t bits = UINT64_MAX >> 1; /* the NaN with all bits set */
    double nan;
    memcpy(&nan, &bits, sizeof nan);
    return worst > 1e-14 || !isnan(exp_neg(nan));
}
"""


def test_exponential_has_no_undefined_behaviour(tmp_path):
    """The exponential is right to rounding under a compiler that traps undefined shifts."""
    source, program = tmp_path / "exponentials.c", tmp_path / "exponentials"
    source.write_text(_EXPONENTIAL, encoding="utf-8")
    traps = ["-fsanitize=shift,signed-integer-overflow", "-fsanitize-undefined-trap-on-error"]
    command = [COMPILER, "-O1", *traps, f"-I{CORE}", str(source), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    subprocess.run([str(program)], check=True)


@pytest.mark.parametrize("name", ["profiles.c", "softmax.c", "latents.c", "distances.c"])
def test_visual_c_sees_no_pragma(name):
    """A compiler that is neither gcc nor clang meets no _Pragma, and no `omp` at all."""
    other = ["-U__GNUC__", "-U__clang__", "-D_MSC_VER=1940"]
    command = [COMPILER, "-E", *other, f"-I{CORE}", str(CORE / name)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "exp_neg" in done.stdout
    assert "_Pragma" not in done.stdout and "omp simd" not in done.stdout


_AS_VISUAL_C = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#undef __GNUC__
#undef __clang__
#define _MSC_VER 1940
#define __forceinline inline
#include "distances.h"
"""


@pytest.mark.parametrize("name", ["profiles.c", "softmax.c", "latents.c", "distances.c"])
def test_what_visual_c_sees_is_plain_c(tmp_path, name):
    """C11 without extensions, arrays of variable length or warnings, as `/std:c11` takes it."""
    source = tmp_path / "as_visual_c.c"
    source.write_text(f'{_AS_VISUAL_C}#include "{name}"\n', encoding="utf-8")
    strict = ["-std=c11", "-pedantic-errors", "-Wall", "-Wextra", "-Wvla", "-Werror"]
    unused = ["-Wno-unused-function", "-fsyntax-only"]  # of distances.h
    subprocess.run([COMPILER, *strict, *unused, f"-I{CORE}", str(source)], check=True)


@pytest.mark.parametrize("name", ["profiles.c", "softmax.c", "latents.c", "distances.c"])
def test_gcc_sees_the_pragmas(name):
    """Under gcc and clang sums and least numbers are marked, so that they go over lanes."""
    command = [COMPILER, "-E", "-fopenmp-simd", f"-I{CORE}", str(CORE / name)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "#pragma omp simd reduction(" in done.stdout
