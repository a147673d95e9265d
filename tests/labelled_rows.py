"""Rows whose outputs are the regressions of classes, with weights, and classes one by one."""

from dataclasses import replace

import numpy as np
from dense import make_case

N_CLASSES = 5
COUNTS = np.linspace(0.5, 2.0, 24)  # observations of each row
LABEL = np.append(np.random.default_rng(3).integers(0, 4, 23), 4)  # the last class has one row
VARIANCE = np.where(LABEL[:, None] == np.arange(N_CLASSES), 0.7, 4.6) / COUNTS[:, None]


def labelled_case():
    """A case of 24 rows, and these with the noise of labels."""
    case = make_case(t=N_CLASSES, noise=np.ones(N_CLASSES))
    rows = replace(case, weight=COUNTS).rows.with_precision(1.0 / (VARIANCE * COUNTS[:, None]))
    return case, replace(rows, of_classes=True)
