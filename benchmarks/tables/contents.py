"""The tables of the page and their rows, each with its reference figure and what is to be reached.

References were measured on such a machine (2 cores of an AMD EPYC, AVX-512) before the package
existed; the peers of the same run stand beside them in the table.
"""

from tables.accuracy import ACCURACY
from tables.blocks import BLOCKS
from tables.classes_and_counts import CLASSES_AND_COUNTS
from tables.growth import GROWTH
from tables.speed_and_memory import SPEED_AND_MEMORY
from tables.streams import STREAMS

TABLES = {
    "Accuracy with defaults": ACCURACY,
    "Speed and memory": SPEED_AND_MEMORY,
    "Models in blocks": BLOCKS,
    "Classes, counts and outliers": CLASSES_AND_COUNTS,
    "Streams": STREAMS,
    "How cost grows, and the paper's figures": GROWTH,
}
