"""How kernel, noise, inducing inputs and latent inputs are learned from a table.

The folder imports the modules beside it, and ``estimators`` import it.
"""
