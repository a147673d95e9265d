"""A curve of ours: fits from scratch with growing ``max_time``."""

import gc

from protocol import emit

# A fit that ends so much before its budget has converged: longer budgets would repeat it. Short
# budgets may end early for other reasons.
_CONVERGED_SHARE, _LEAST_BUDGET = 0.7, 20


def along(budgets, record):
    """Emit ``record(budget)``, which has the seconds that a fit took, for growing budgets."""
    for budget in budgets:
        found = record(budget)
        emit(budget=budget, **found)
        gc.collect()
        if budget > _LEAST_BUDGET and found["seconds"] < _CONVERGED_SHARE * budget:
            break
