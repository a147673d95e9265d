"""How estimators take what users give them."""
