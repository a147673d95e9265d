"""Sphinx configuration. CONTRIBUTING.md, "The site", has the command that builds."""

import os
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_extensions"))

from sklearn_sgp import __version__  # noqa: E402

project = "sklearn_sgp"
author = "The sklearn_sgp developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # in docs/_extensions
    "benchmark_pictures",
    "gallery",
    "links",
    "local_mathjax",
    "parameter_links",
]
root_doc = "index"
exclude_patterns = ["_build", "**.ipynb", "auto_examples/*.json", "sg_execution_times.rst"]
templates_path = ["_templates"]
# Every reference must have a target: what does not, and is not another project's, is an error.
nitpicky = True
suppress_warnings = ["config.cache"]

# -- Pages ------------------------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Equations carry the tags of their text.
math_number_all = False

# -- Reference --------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "literal"
add_module_names = False
toc_object_entries_show_parents = "hide"

# -- Gallery ----------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^_",
    "reset_argv": "gallery.example_arguments",
    "within_subsection_order": "gallery.reading_order",
    "minigallery_sort_order": "gallery.reading_order",
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("sklearn_sgp",),
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
}

# -- HTML -------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"sklearn_sgp {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
# Pages without pages below them have no navigation at their side.
html_sidebars = {
    page: []
    for page in (
        "index",
        "start",
        "choosing",
        "kernels",
        "coming_from",
        "theory",
        "design",
        "contributing",
        "changelog",
    )
}
html_theme_options = {
    "logo": {"text": "sklearn_sgp"},
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
# Local files only: a page must look the same without a network.
mathjax_path = "mathjax/tex-chtml.js"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

os.environ.setdefault("MPLBACKEND", "Agg")
