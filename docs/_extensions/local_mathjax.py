"""MathJax from an installed package, so that formulas need no network.

The package sphinx-mathjax-offline carries MathJax 3 (Apache License 2.0). Its own extension copies
all of it, 24 MB; the site needs one program, its fonts and the extensions that a formula may ask
for.
"""

from importlib.util import find_spec
from pathlib import Path
from shutil import copytree

from docutils import nodes
from sphinx.errors import ExtensionError

COPIED = ["tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2"]


def copy_mathjax(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    package = find_spec("sphinx-mathjax-offline")
    if package is None:
        raise ExtensionError(
            "MathJax must be installed to be shipped with the site. Got no package "
            "sphinx-mathjax-offline: pip install -e '.[docs]'."
        )
    source = Path(package.origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    for name in COPIED:
        if (source / name).is_dir():
            copytree(source / name, target / name, dirs_exist_ok=True)
        else:
            target.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((source / name).read_bytes())


def keep_environments(app, doctree):
    """Leave equations with environments of their own as they are.

    Sphinx puts equations of several lines into a `split`, in which no tag may stand.
    """
    for node in doctree.findall(nodes.math_block):
        latex = node.astext().strip()
        if r"\begin{" in latex:
            whole = latex.startswith((r"\begin{align}", r"\begin{align*}", r"\begin{equation}"))
            node[:] = [nodes.Text(latex if whole else rf"\[{latex}\]")]
            node["nowrap"] = node["no-wrap"] = True


def setup(app):
    app.connect("doctree-read", keep_environments)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True}
