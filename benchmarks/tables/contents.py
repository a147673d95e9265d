"""The tables of the page and their rows, each with what is to be reached.

What is published is from papers; all other figures of others are of the same run.
"""

from tables.accuracy import ACCURACY
from tables.blocks import BLOCKS
from tables.boosting import BOOSTING
from tables.classes_and_counts import CLASSES_AND_COUNTS
from tables.clusters import CLUSTERS
from tables.effort import EFFORT
from tables.growth import GROWTH
from tables.latent_inputs import LATENT_INPUTS
from tables.many_classes import MANY_CLASSES
from tables.missing_values import MISSING_VALUES
from tables.real_series import REAL_SERIES
from tables.row_noise import ROW_NOISE
from tables.several_outputs import SEVERAL_OUTPUTS
from tables.speed_and_memory import SPEED_AND_MEMORY
from tables.streams import STREAMS
from tables.two_classes import TWO_CLASSES
from tables.unseen import UNSEEN

TABLES = {
    "Tables with defaults, beside boosting and other Gaussian processes": BOOSTING,
    "Tables that nobody has chosen": UNSEEN,
    "Accuracy with defaults": ACCURACY,
    "Speed and memory": SPEED_AND_MEMORY,
    "Models in blocks": BLOCKS,
    "Several outputs, and categories": SEVERAL_OUTPUTS,
    "Classes with defaults, beside a support vector machine and boosting": MANY_CLASSES,
    "Two classes with defaults, beside every rival with probabilities": TWO_CLASSES,
    "Classes, counts and outliers": CLASSES_AND_COUNTS,
    "Noise of each row": ROW_NOISE,
    "Missing values": MISSING_VALUES,
    "Tables without a target": LATENT_INPUTS,
    "Streams": STREAMS,
    "Real series, batch after batch": REAL_SERIES,
    "Rows that live on workers": CLUSTERS,
    "Seconds with defaults against rows and columns": EFFORT,
    "How cost grows, and the paper's figures": GROWTH,
}
