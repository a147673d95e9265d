"""An anchor and a link for each parameter and attribute of the reference."""

from docutils import nodes
from sphinx import addnodes

LINKED = ("Parameters", "Attributes")


def link_parameters(app, doctree):
    for description in doctree.findall(addnodes.desc):
        signature = description.next_node(addnodes.desc_signature)
        if signature is None or not signature["ids"]:
            continue
        for field in description[-1].findall(nodes.field):
            if field[0].astext() in LINKED and _owner(field) is description:
                for term in field[1].findall(nodes.term):
                    _link(term, signature["ids"][0])


def _owner(node):
    while not isinstance(node, addnodes.desc):
        node = node.parent
    return node


def _link(term, owner):
    """Several names of one entry, "step_size, step_decay", have an anchor each."""
    strong = term.next_node(nodes.strong)
    if strong is None:
        return
    names = [name.strip().lstrip("*") for name in strong.astext().split(",")]
    anchors = [f"{owner}.{name}" for name in names]
    term["ids"].extend(anchors)
    link = nodes.reference("", "#", refuri=f"#{anchors[0]}", internal=True, classes=["headerlink"])
    link["reftitle"] = "Link to this parameter"
    term += link


def setup(app):
    app.connect("doctree-read", link_parameters)
    return {"parallel_read_safe": True}
