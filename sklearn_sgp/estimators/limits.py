"""Likelihoods whose targets have limits: these are scaled as the targets are."""


def check_warps(likelihood, normalize_y):
    """Refuse a warp of targets that are known only to lie beyond a limit."""
    if isinstance(normalize_y, str) and not getattr(likelihood, "takes_warps", True):
        raise ValueError(
            "The 'normalize_y' parameter must be True, False or a pair of numbers with "
            f"{likelihood!r}. Got {normalize_y!r}: transform the targets and their limits yourself."
        )


def in_units(likelihood, targets):
    """Return the likelihood of targets as they are scaled."""
    if not hasattr(likelihood, "in_units"):  # one that derives from no base
        return likelihood
    return likelihood.in_units(targets.mean, targets.scale)
