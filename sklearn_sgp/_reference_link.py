"""Where the HTML representation of an estimator links to: its page of the reference."""

from importlib.metadata import PackageNotFoundError, metadata

_PAGE = "reference/generated/sklearn_sgp.{estimator_name}.html"


class LinkedToReference:
    """Mixin of estimators for their question mark, and those of their parameters.

    The address of the site is the package's "Documentation" link, ``[project.urls]`` of
    pyproject.toml. Without one there is no link: not a dead one, and none to scikit-learn.
    """

    _doc_link_module = "sklearn_sgp"

    @property
    def _doc_link_template(self):
        site = _address_of_site()
        return f"{site.rstrip('/')}/{_PAGE}" if site else ""


def _address_of_site():
    try:
        links = metadata("sklearn_sgp").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named = (link.partition(", ")[::2] for link in links)
    return next((address for name, address in named if name.lower() == "documentation"), "")
