"""Every experiment by its name for --only, in the order in which they run.

An experiment takes a `Context` and returns a dict: ``values`` (ours, by key), ``errors`` (their
standard errors, by key), ``peers`` (by key and library, in the same run), ``curves`` (by library),
and ``details``. The folder tables says which values are shown and what they must be.
"""

from collections.abc import Callable
from dataclasses import dataclass

from experiments import (
    blocks,
    boosting,
    budgets,
    classes_and_counts,
    clusters,
    effort,
    growth,
    latent_inputs,
    many_classes,
    missing_values,
    paper_figures,
    real_series,
    regression,
    rivals,
    row_noise,
    several_outputs,
    speed_and_memory,
    streams,
    two_classes,
    unseen_tables,
)


@dataclass(frozen=True)
class Experiment:
    """What is run, and how long it may take.

    Parameters
    ----------
    run : callable
        Takes a `Context`.
    limit : float
        Seconds after which what runs is ended.
    needs_data : bool
        Whether it reads the folder of data sets.
    on_request : bool
        Whether it runs only when named, or in a smoke run.
    """

    run: Callable
    limit: float
    needs_data: bool = False
    on_request: bool = False


def _on_data(run, limit, **more):
    return Experiment(run, limit, needs_data=True, **more)


EXPERIMENTS = {
    "startup": Experiment(speed_and_memory.startup, 120),
    "micro": Experiment(speed_and_memory.micro, 300),
    "predict": Experiment(speed_and_memory.predict, 180),
    "synthetic": Experiment(regression.synthetic, 600),
    "kin40k": _on_data(regression.kin40k, 600),
    "airline_speed": _on_data(regression.airline_speed, 600),
    "airline_accuracy": _on_data(regression.airline_accuracy, 480),
    "uci_small": _on_data(regression.uci_small, 1500),
    "uci_large": _on_data(regression.uci_large, 2400),
    "rivals": _on_data(rivals.rivals, 43_200, on_request=True),
    "against_boosting": _on_data(boosting.against_boosting, 4800),
    "california": _on_data(regression.california, 240),
    "noise_floor": Experiment(regression.noise_floor, 240),
    "memory": Experiment(speed_and_memory.memory, 300),
    "memory_of_methods": Experiment(speed_and_memory.memory_of_methods, 3600, on_request=True),
    "latency": Experiment(speed_and_memory.latency, 1200, on_request=True),
    "block_steps": Experiment(blocks.block_steps, 120),
    "airline_blocks": _on_data(blocks.airline_blocks, 1800),
    "sea_level_pressure": _on_data(blocks.sea_level_pressure, 900),
    "pendigits": _on_data(classes_and_counts.pendigits, 480),
    "elec2": _on_data(classes_and_counts.elec2, 480),
    "small_classes": _on_data(classes_and_counts.small_classes, 360),
    "banana": _on_data(classes_and_counts.banana, 240),
    "many_classes": _on_data(many_classes.many_classes, 7200),
    "growth_classes": Experiment(many_classes.growth_classes, 1200),
    "several_outputs": _on_data(several_outputs.several_outputs, 1800),
    "categories": _on_data(several_outputs.categories, 2400, on_request=True),
    "latent_inputs": _on_data(latent_inputs.latent_inputs, 3600),
    "classifier_steps": Experiment(classes_and_counts.classifier_steps, 300),
    "row_noise": _on_data(row_noise.row_noise, 2400),
    "counts": _on_data(classes_and_counts.counts, 240),
    "growth_n": Experiment(growth.growth_n, 600),
    "growth_m": Experiment(growth.growth_m, 480),
    "growth_d": Experiment(growth.growth_d, 240),
    "vif_speed": Experiment(speed_and_memory.vif_speed, 1200),
    "vif_growth": Experiment(growth.vif_growth, 2400),
    "stream_line": Experiment(streams.stream_line, 480),
    "stream_banana": _on_data(streams.stream_banana, 120),
    "stream_draws": _on_data(streams.stream_draws, 480),
    "stream_series": _on_data(streams.stream_series, 1200),
    "stream_space": _on_data(streams.stream_space, 1800),
    "stream_elec2": _on_data(streams.stream_elec2, 360),
    "stream_speed": Experiment(streams.stream_speed, 240),
    "stream_robust": Experiment(streams.stream_robust, 480),
    "real_series": Experiment(real_series.real_series, 1200),
    # long, information only, or pictures more than measures
    "airline_all": _on_data(budgets.airline_all, 1800, on_request=True),
    "budgets": _on_data(budgets.budgets, 4800, on_request=True),
    "house_prices": _on_data(regression.house_prices, 900, on_request=True),
    "airline_by_route": _on_data(blocks.airline_by_route, 1200, on_request=True),
    "figure7": _on_data(paper_figures.figure7, 2400, on_request=True),
    "figure8": _on_data(paper_figures.figure8, 1800, on_request=True),
    "pressure_curves": _on_data(paper_figures.pressure_curves, 3600, on_request=True),
    "airline_curves": _on_data(paper_figures.airline_curves, 2400, on_request=True),
    "airline_pic": _on_data(paper_figures.airline_pic, 1800, on_request=True),
    "stream_memory": _on_data(streams.stream_memory, 1800, on_request=True),
    "collections": Experiment(clusters.collections, 2400, on_request=True),
    "airline_parquet": _on_data(clusters.airline_parquet, 2400, on_request=True),
    "worker_predictions": _on_data(clusters.worker_predictions, 2400, on_request=True),
    "lost_workers": Experiment(clusters.lost_workers, 1800, on_request=True),
    "missing_values": _on_data(missing_values.missing_values, 1200, on_request=True),
    "two_classes": _on_data(two_classes.two_classes, 7200, on_request=True),
    "unseen_tables": Experiment(unseen_tables.unseen_tables, 7200, on_request=True),
    "stream_soak": Experiment(streams.stream_soak, 2400, on_request=True),
    "effort": Experiment(effort.effort, 7200, on_request=True),
    "effort_of_others": Experiment(effort.effort_of_others, 14_400, on_request=True),
}

# What --only also takes: figures, tables and numbers of the papers, see docs/papers.md.
GROUPS = {
    "papers": (
        "house_prices",
        "figure7",
        "figure8",
        "block_steps",
        "airline_blocks",
        "airline_pic",
        "airline_curves",
        "pressure_curves",
        "stream_line",
        "stream_draws",
        "stream_series",
        "stream_space",
        "stream_memory",
        "stream_banana",
    ),
}


def members(names):
    """Return names of experiments, groups replaced by theirs, each once."""
    return list(dict.fromkeys(one for name in names for one in GROUPS.get(name, (name,))))
