"""Every experiment by its name for --only, in the order in which they run.

An experiment takes a `Context` and returns a dict: ``values`` (ours, by key), ``peers`` (by key and
library, in the same run), ``curves`` (by library), and ``details``. The folder tables says which
values are shown and what they must be.
"""

from experiments import (
    blocks,
    classes_and_counts,
    growth,
    paper_figures,
    regression,
    speed_and_memory,
    streams,
)

EXPERIMENTS = {
    "startup": speed_and_memory.startup,
    "micro": speed_and_memory.micro,
    "predict": speed_and_memory.predict,
    "synthetic": regression.synthetic,
    "kin40k": regression.kin40k,
    "airline_speed": regression.airline_speed,
    "house_prices": regression.house_prices,
    "airline_accuracy": regression.airline_accuracy,
    "uci_small": regression.uci_small,
    "uci_large": regression.uci_large,
    "california": regression.california,
    "noise_floor": regression.noise_floor,
    "memory": speed_and_memory.memory,
    "block_steps": blocks.block_steps,
    "airline_blocks": blocks.airline_blocks,
    "airline_passes": blocks.airline_passes,
    "sea_level_pressure": blocks.sea_level_pressure,
    "pendigits": classes_and_counts.pendigits,
    "elec2": classes_and_counts.elec2,
    "pendigits_selected": classes_and_counts.pendigits_selected,
    "small_classes": classes_and_counts.small_classes,
    "banana": classes_and_counts.banana,
    "classifier_steps": classes_and_counts.classifier_steps,
    "counts": classes_and_counts.counts,
    "growth_n": growth.growth_n,
    "growth_m": growth.growth_m,
    "growth_d": growth.growth_d,
    "figure7": paper_figures.figure7,
    "figure8": paper_figures.figure8,
    "stream_line": streams.stream_line,
    "stream_banana": streams.stream_banana,
    "stream_draws": streams.stream_draws,
    "stream_series": streams.stream_series,
    "stream_space": streams.stream_space,
    "stream_elec2": streams.stream_elec2,
    "stream_speed": streams.stream_speed,
    "stream_robust": streams.stream_robust,
    "stream_soak": streams.stream_soak,
}
# Run only when named (or in a smoke run): long, and the figures are pictures more than measures.
ON_REQUEST = ("figure7", "figure8", "stream_soak")
NEEDS_DATA = (
    "kin40k",
    "airline_speed",
    "house_prices",
    "airline_accuracy",
    "uci_small",
    "uci_large",
    "california",
    "airline_blocks",
    "airline_passes",
    "sea_level_pressure",
    "pendigits",
    "elec2",
    "pendigits_selected",
    "small_classes",
    "banana",
    "counts",
    "figure7",
    "figure8",
    "stream_banana",
    "stream_draws",
    "stream_series",
    "stream_space",
    "stream_elec2",
)
