"""What tests ask of fitted estimators beside their public attributes."""


def fitted(model):
    """The `engines.fitted.Fitted` that an estimator holds."""
    return model._fitted
