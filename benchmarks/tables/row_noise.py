"""Rows of noise that differs from row to row."""

from experiments.row_noise import DRAWS, MODELS, RIVALS, WIDTH_TABLES

from tables.measure import Measure

_NAME = "row_noise"
_NEEDS = dict(zip(RIVALS, ("gpflow", "gpboost"), strict=True))

ROW_NOISE = [
    *[
        row
        for model, title in MODELS.items()
        for row in (
            Measure(_NAME, f"{model}_gain", f"motorcycle, ten folds, {title}: log density above "
                    "that with constant noise", "nats", low=0.2),
            Measure(_NAME, f"{model}_nlpd", "the same: mean negative log density", "nats"),
            Measure(_NAME, f"{model}_coverage", "the same: 90 % intervals cover"),
            Measure(_NAME, f"{model}_cost", "the same: seconds over those with constant noise",
                    "times", high=2.5),
            Measure(_NAME, f"{model}_seconds", "the same: seconds", "s"),
            *[
                each
                for rival in RIVALS
                for each in (
                    Measure(_NAME, f"{model}_gain {rival}", f"the same: log density above that of "
                            f"{rival}", "nats", low=0.0, rival=_NEEDS[rival]),
                    Measure(_NAME, f"{model}_times {rival}", f"the same: seconds of {rival} to its "
                            "last log density over ours", "times", low=10.0, rival=_NEEDS[rival],
                            density=f"{model}_gain {rival}"),
                )
            ],
        )
    ],
    *[
        row
        for name in WIDTH_TABLES
        for row in (
            Measure(_NAME, f"{name}_heteroscedastic_student_t_least", f"{name}, noise of each row: "
                    "least coverage in a third of the rows by width of the interval", low=0.87),
            Measure(_NAME, f"{name}_heteroscedastic_student_t_most", "the same: most", high=0.93),
            Measure(_NAME, f"{name}_gaussian_least", "the same, constant noise: least"),
            Measure(_NAME, f"{name}_gaussian_most", "the same, constant noise: most"),
            Measure(_NAME, f"{name}_heteroscedastic_student_t_nlpd", "noise of each row: mean "
                    "negative log density", "nats"),
            Measure(_NAME, f"{name}_gaussian_nlpd", "constant noise: the same", "nats"),
        )
    ],
    Measure(_NAME, "recovered_df_error", f"rows drawn from the model, n = 20,000, {DRAWS} draws: "
            "largest relative error of the degrees of freedom", high=0.2),
    Measure(_NAME, "recovered_sd_worst", "the same: largest relative error of the noise's "
            "deviation, root mean square over the rows", high=0.1),
    Measure(_NAME, "recovered_seconds", "the same: seconds of a fit", "s"),
]  # fmt: skip
