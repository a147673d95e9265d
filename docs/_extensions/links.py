"""Links between pages, files of the repository, the reference and the manuals of other projects.

Markdown pages link to files, so that they can be read in the repository too; on the site these
become links to pages, and public names become links to the reference. Names of other projects
become links to their manuals, without a look at their inventories, which would need the network.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

# Files of the repository, as pages link to them, and the page of the site that has them.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
}

# Links of files that pages include to files beside them.
BESIDE = {
    "](CODE.md)": "](benchmarks_code.md)",
    "](docs/design.md#glossary)": "](design.md#glossary)",
}

# Pages of the user guide that a page of the reference links to.
NOISE, SURE = "noise", "uncertainty"
GUIDES = {
    "sklearn_sgp.SVGPRegressor": ("regression", NOISE, "outputs_and_categories", SURE),
    "sklearn_sgp.SVGPClassifier": ("classes_and_counts",),
    "sklearn_sgp.AnytimeSGPRegressor": ("regression", "local_structure", NOISE, SURE),
    "sklearn_sgp.AnytimeSGPClassifier": ("classes_and_counts", "local_structure"),
    "sklearn_sgp.StreamingSGPRegressor": ("streams", "saving", SURE),
    "sklearn_sgp.StreamingSGPClassifier": ("streams", "saving", "classes_and_counts"),
    "sklearn_sgp.BayesianGPLVM": ("latent_variables",),
    "sklearn_sgp.kernels.Categorical": ("outputs_and_categories",),
    "sklearn_sgp.kernels.Columns": ("outputs_and_categories",),
    "sklearn_sgp.likelihoods.StudentT": (NOISE,),
    "sklearn_sgp.likelihoods.HeteroscedasticGaussian": (NOISE,),
    "sklearn_sgp.likelihoods.HeteroscedasticStudentT": (NOISE,),
    "sklearn_sgp.likelihoods.Poisson": ("classes_and_counts",),
    "sklearn_sgp.predict.distribution.PredictiveDistribution": (SURE,),
    "sklearn_sgp.metrics.interval_coverage": (SURE,),
    "sklearn_sgp.metrics.negative_log_predictive_density": (SURE,),
    "sklearn_sgp.metrics.log_density_scorer": ("tuning",),
    "sklearn_sgp.plotting.CalibrationDisplay": (SURE,),
    "sklearn_sgp.plotting.ResidualDisplay": (SURE,),
}

# Where a name is a link already, or cannot be one; where its first occurrence becomes one.
LINKED = (nodes.reference, nodes.title, addnodes.pending_xref)
PLACES = (nodes.row, nodes.section)

SKLEARN = "https://scikit-learn.org/stable/"
MANUALS = [
    (r"sklearn\.gaussian_process\.kernels$", SKLEARN + "modules/gaussian_process.html#kernels"),
    (r"sklearn\.[\w.]+$", SKLEARN + "modules/generated/{name}.html"),
    (r"scipy\.stats$", "https://docs.scipy.org/doc/scipy/reference/stats.html"),
    (r"numpy\.[\w.]+$", "https://numpy.org/doc/stable/reference/generated/{name}.html"),
]
# Labels that docstrings inherited from scikit-learn refer to.
SKLEARN_LABELS = {
    "accuracy_score": SKLEARN + "modules/model_evaluation.html#accuracy-score",
    "df_output_transform": SKLEARN + "modules/df_output_transform.html",
    "r2_score": SKLEARN + "modules/model_evaluation.html#r2-score",
    "metadata_routing": SKLEARN + "metadata_routing.html",
    "sphx_glr_auto_examples_miscellaneous_plot_set_output.py": SKLEARN
    + "auto_examples/miscellaneous/plot_set_output.html",
}


def link_pages(app, docname, content):
    """Turn links to files of the repository into links to pages."""
    up = "../" * docname.count("/")
    for path, page in PAGES.items():
        content[0] = re.sub(
            rf"\]\((?:\.\./)+{re.escape(path)}(?=[#)])", f"]({up}{page}", content[0]
        )


def link_included(app, relative_path, parent_docname, content):
    """Turn links of an included file into links to pages."""
    for link, page in BESIDE.items():
        content[0] = content[0].replace(link, page)


def public_names():
    """Full name of each public name, as the reference lists them."""
    text = (Path(__file__).parents[1] / "reference.rst").read_text(encoding="utf-8")
    names = {}
    for part in text.split(".. currentmodule:: ")[1:]:
        module = part.partition("\n")[0]
        names |= {name: f"{module}.{name}" for name in re.findall(r"^   (\w+)$", part, re.M)}
    return names


def link_names(app, doctree):
    """Link public names in Markdown pages, the first in each section or row of a table."""
    docname = app.env.docname
    if not str(app.env.doc2path(docname)).endswith(".md"):
        return
    names, linked = public_names(), set()
    for literal in list(doctree.findall(nodes.literal)):
        match = re.match(r"(\w+)(\(.*\))?$", literal.astext())
        around = list(_around(literal))
        if match is None or match[1] not in names or any(isinstance(n, LINKED) for n in around):
            continue
        place = next((node for node in around if isinstance(node, PLACES)), doctree)
        if (id(place), match[1]) not in linked:
            linked.add((id(place), match[1]))
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=names[match[1]], refexplicit=True,
                refwarn=True, refdoc=docname,
            )  # fmt: skip
            literal.replace_self(link)
            link += literal


def _around(node):
    while node.parent is not None:
        node = node.parent
        yield node


def link_theory(app, what, name, obj, options, lines):
    """Link the theory page where a docstring names its file.

    A fitted attribute in a shape, ``(n_features_in_,)``, is no link: its underscore is escaped.
    """
    for number, line in enumerate(lines):
        line = line.replace("``docs/theory.md``", ":doc:`the theory page </theory>`")
        lines[number] = re.sub(r"\((n_\w+)_,\)", r"(\1\\_,)", line)


def link_guide(app, what, name, obj, options, lines):
    """Name the pages of the user guide below the summary."""
    if name in GUIDES and "" in lines:
        pages = ", ".join(f":doc:`/guide/{page}`" for page in GUIDES[name])
        end = lines.index("")
        lines[end:end] = ["", f"User guide: {pages}."]


def link_manual(app, env, node, contnode):
    """Link names of other projects to their manuals."""
    name = node.get("reftarget", "")
    for pattern, url in MANUALS:
        if re.match(pattern, name):
            return _reference(url.format(name=name), contnode)
    if name in SKLEARN_LABELS:
        return _reference(SKLEARN_LABELS[name], contnode)
    return None


def _reference(url, contnode):
    reference = nodes.reference("", "", internal=False, refuri=url)
    reference += contnode
    return reference


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("source-read", link_pages)
    app.connect("include-read", link_included)
    app.connect("doctree-read", link_names)
    app.connect("autodoc-process-docstring", link_theory, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", link_guide, priority=400)
    app.connect("missing-reference", link_manual)
    return {"parallel_read_safe": True}
