"""A column of X that is added to the function as it is, such as the logarithm of an exposure."""

from sklearn.base import is_classifier

from ..likelihoods._names import regression_likelihood


def check_offset(estimator):
    """Refuse a column that is added to a function which is in units of the targets."""
    if is_classifier(estimator):
        return  # the classes have to be known
    likelihood = regression_likelihood(estimator.likelihood)
    if likelihood.scales_targets:
        raise ValueError(
            "The 'offset_column' parameter needs a likelihood whose targets are not scaled, as "
            f"those of counts. Got {estimator.offset_column!r} with "
            f"likelihood={estimator.likelihood!r}: subtract the column from y, "
            "and add it to predictions."
        )


def check_offset_of_classes(likelihood, n_classes):
    """Refuse a column that is added to one function where each class has its own."""
    if likelihood.n_latent(n_classes) > 1:
        raise ValueError(
            "The 'offset_column' parameter needs a likelihood of one function: 'probit' or 'logit' "
            f"for two classes, 'ordinal' for classes in an order. Got {type(likelihood).__name__} "
            f"with {n_classes} classes: name one of these, or leave the column out."
        )


def beside_offset(likelihood, given, offset, weight, *seen):
    """Return the likelihood with a prior mean that leaves what is added out.

    Parameters
    ----------
    likelihood : Likelihood
        With what it takes from the targets.
    given : Likelihood
        As the user gave it.
    offset : ndarray of shape (n,)
    seen : ndarray of shape (n, t)
        Which targets were observed, if not all.
    """
    if getattr(given, "offset", None) is not None or not hasattr(likelihood, "beside"):
        return likelihood
    return likelihood.beside(offset, weight, *seen)
