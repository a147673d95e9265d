"""Builds the extension modules; everything else about the package is in pyproject.toml."""

import copy
import os
import sysconfig
from pathlib import Path

import Cython
import scipy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORE = Path("sklearn_sgp", "_core")

# Memoryviews, which Cython writes into this extension instead of into each: half of the time of
# a build (33 CPU seconds instead of 65), and half of the size of what is built.
SHARED = CORE / "_shared"

# C files that are compiled into the extension of this name.
C_SOURCES = {
    "_stationary": ["profiles.c"],
    "_triangles": ["profiles.c"],
    "_softmax": ["softmax.c"],
    "_latents": ["latents.c"],
    "_neighbours": ["distances.c"],
}

# One wheel serves CPython 3.11 and all later versions; free-threaded builds have no stable ABI.
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")

DEBUG = os.environ.get("SKLEARN_SGP_DEBUG", "0") not in ("", "0")

# Address and undefined-behaviour sanitizers of gcc or clang; .ci/sanitize runs the tests with them.
SANITIZE = os.environ.get("SKLEARN_SGP_SANITIZE", "0") not in ("", "0")

# Indices never count from the end: with bounds checked and no wraparound, a negative one is an
# error in the debug build.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "wraparound": False,
    "cdivision": True,
    # No module switches the GIL on: what is shared between threads, `_memory` locks.
    "freethreading_compatible": True,
}

# Without -fno-trapping-math gcc leaves the loops of the C files scalar. Neither
# -ffast-math, which breaks the exponential of simd.h, nor -march: the instruction set is picked at
# run time. -fopenmp-simd lets marked sums go over lanes; it needs no OpenMP runtime.
COMPILE_ARGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-g0"]
# Of equal distances the first counts, by every instruction set: no multiply and add as one.
UNCONTRACTED, NO_CONTRACTION = {"_neighbours"}, "-ffp-contract=off"
# Visual C takes `restrict` and _Pragma as of C11 only, and reads UTF-8 as of the code page.
COMPILE_ARGS_MSVC = ["/O2", "/std:c11", "/utf-8"]
SANITIZE_ARGS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]


def write_blas_int():
    """Write the type of BLAS sizes for `include` in .pyx files; return the file and if it is new.

    scipy exports its own type since 1.18, 64 bits wide in some builds; before, sizes are int. The
    first line names what else shapes the C that Cython writes, so that a change of any of it
    compiles everything again.
    """
    pxd = Path(scipy.__file__).with_name("linalg") / "cython_blas.pxd"
    if "blas_int" in pxd.read_text(encoding="utf-8"):
        declaration = "from scipy.linalg.cython_blas cimport blas_int"
    else:
        declaration = "ctypedef int blas_int"
    shapes = {**DIRECTIVES, "shared": SHARED.name}
    said = "".join(f"# {name}: {value}\n" for name, value in shapes.items())
    text = f"# Written by setup.py: Cython {Cython.__version__}\n{said}{declaration}\n"
    path = CORE / "_blas_int.pxi"
    is_new = not path.exists() or path.read_text(encoding="utf-8") != text
    if is_new:
        path.write_text(text, encoding="utf-8")
    return path, is_new


def extension(source, depends):
    """Return the extension that is made from a .pyx file, or from the C of what is shared."""
    sources = [source, *(CORE / name for name in C_SOURCES.get(source.stem, []))]
    return Extension(
        ".".join(source.with_suffix("").parts),
        [path.as_posix() for path in sources],
        depends=[path.as_posix() for path in depends],
        include_dirs=[CORE.as_posix()],
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED_API else [],
        py_limited_api=LIMITED_API,
    )


class BuildExtensions(build_ext):
    """Gives each compiler its own flags, and each core an extension to compile (160 MB each)."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self):
        msvc = self.compiler.compiler_type == "msvc"
        for ext in self.extensions:
            ext.extra_compile_args = list(COMPILE_ARGS_MSVC if msvc else COMPILE_ARGS)
            if SANITIZE:
                ext.extra_compile_args = [*COMPILE_ARGS, "-g", "-O1", *SANITIZE_ARGS]
                ext.extra_link_args = SANITIZE_ARGS
            if ext.name.rpartition(".")[2] in UNCONTRACTED and not msvc:
                ext.extra_compile_args.append(NO_CONTRACTION)
        super().build_extensions()

    def build_extension(self, ext):
        # Extensions that are compiled at once and share a C source must not share its object file.
        alone = copy.copy(self)
        alone.build_temp = str(Path(self.build_temp, ext.name))
        super(BuildExtensions, alone).build_extension(ext)


def main():
    blas_int, is_new_build = write_blas_int()
    depends = [blas_int, CORE / "_triangular_inverse.pxi", *sorted(CORE.glob("*.h"))]
    extensions = [extension(pyx, depends) for pyx in sorted(CORE.glob("*.pyx"))]
    setup(
        ext_modules=cythonize(
            [*extensions, extension(SHARED.with_suffix(".c"), depends)],
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=".".join(SHARED.parts),
            nthreads=os.cpu_count(),
            force=is_new_build,
        ),
        cmdclass={"build_ext": BuildExtensions},
        options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED_API else {},
    )


if __name__ == "__main__":  # processes that `cythonize` starts may import this file
    main()
