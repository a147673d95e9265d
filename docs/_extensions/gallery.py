"""How the gallery runs the examples.

The build runs every example at full size. With SKLEARN_SGP_DOCS_QUICK=1 it runs them with
``--quick``, in seconds.
"""

import os
import re
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
QUICK = os.environ.get("SKLEARN_SGP_DOCS_QUICK", "0") not in ("", "0")

# The scripts save their pictures; the gallery takes its own from the open figures.
_saved_pictures = tempfile.TemporaryDirectory(prefix="sklearn_sgp_pictures_")


def example_arguments(gallery_conf, script_vars):
    """Command line of an example."""
    return [*(["--quick"] if QUICK else []), "--output", _saved_pictures.name]


def reading_order(filename):
    """Sort key: the order in which examples/README.md lists the scripts, others at the end."""
    readme = ROOT / "examples" / "README.md"
    name = Path(filename).name
    position = readme.read_text(encoding="utf-8").find(f"`{name}` |")
    return (position < 0, position, name)


def link_estimators(app, config):
    """Make the HTML representation of an estimator in the gallery link to its page here."""
    from sklearn_sgp import _reference_link

    _reference_link._address_of_site = lambda: ".."


def only_rst_headers(app, config):
    """Read headers of the gallery from .rst: README.md is for readers of the repository."""
    gallery_conf = config.sphinx_gallery_conf
    suffixes = gallery_conf["source_suffix"].items()
    gallery_conf["source_suffix"] = {key: parser for key, parser in suffixes if key == ".rst"}


def plain_times(app, docname, content):
    """Make the list of times a plain table: sphinx-gallery's loads scripts from other sites.

    Its column of memory, which is not measured, is left out.
    """
    if docname.endswith("sg_execution_times"):
        text = re.sub(r"^\.\. container::.*?(?=^  \.\. list)", "", content[0], flags=re.S | re.M)
        text = re.sub(r"^     - (Mem \(MB\)|[\d.]+)\n", "", text, flags=re.M)
        content[0] = re.sub(r"^  ", "", text, flags=re.M)


def paths_of_the_repository(app, docname, content):
    """Leave the folder of the build out of what examples print, such as warnings."""
    if docname.startswith("auto_examples/"):
        content[0] = content[0].replace(f"{ROOT}{os.sep}", "")


def setup(app):
    app.connect("config-inited", link_estimators)
    app.connect("config-inited", only_rst_headers)  # after sphinx-gallery's, of priority 10
    app.connect("source-read", plain_times)
    app.connect("source-read", paths_of_the_repository)
    return {"parallel_read_safe": True}
