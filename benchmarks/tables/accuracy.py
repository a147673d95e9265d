"""Rows of regression with defaults: how well it predicts."""

from experiments.budgets import BUDGETED

from tables.measure import Measure

_CURVES = (
    ("synthetic", "synthetic, m = 500", ("GPflow SVGP", "GPyTorch SVGP"), None),
    ("kin40k", "kin40k, m = 512", ("GPflow SGPR", "GPyTorch SVGP"), 0.0),
    ("airline_speed", "AIRLINE, 720,000 rows, m = 500", ("GPflow SVGP", "GPyTorch SVGP"), None),
    ("house_prices", "UK house prices, m = 500", ("GPflow SVGP", "GPyTorch SVGP"), None),
)

ACCURACY = [
    Measure("airline_accuracy", "rmse_gain", "AIRLINE, 700,000 rows, m = 1000, max_time = 180: "
            "RMSE below the better boosting's", "min", low=0.0),
    Measure("airline_accuracy", "log_density_gain", "the same: log density above it", "nats",
            low=0.0),
    Measure("airline_accuracy", "rmse", "the same: RMSE", "min"),
    Measure("airline_accuracy", "seconds", "the same: seconds of the fit", "s"),
    Measure("airline_all", "rmse", "AIRLINE, 1.95 million rows, AnytimeSGPRegressor(max_time=900): "
            "RMSE", "min", high=31.0),
    Measure("airline_all", "log_density", "the same: log density, targets standardised", "nats"),
    Measure("airline_all", "coverage", "the same: 90 % intervals cover"),
    Measure("airline_all", "seconds", "the same: seconds of the fit", "s"),
    Measure("budgets", "largest_fall", "AnytimeSGPRegressor(), max_time of 15 to 240 s: largest "
            "fall of the log density from one to a longer one", "nats", high=0.03),
    *[
        Measure("budgets", f"{name}_fall", f"the same on {name}", "nats") for name in BUDGETED
    ],
    *[
        row
        for name, title, rivals, low in _CURVES
        for row in (
            *[
                Measure(name, f"{score}_gain {rival}", f"{title}: {what} {rival}'s after as long",
                        unit, low=low if rival.startswith("GPflow") else None, rival=rival)
                for rival in rivals
                for score, what, unit in (("nlpd", "log density above", "nats"),
                                          ("rmse", "RMSE below", "sd"))
            ],
            Measure(name, "rmse", f"{title}: RMSE", "sd"),
        )
    ],
    *[
        row
        for name in ("concrete", "energy", "wine_red", "yacht")
        for row in (
            Measure("uci_small", f"{name}_gain",
                    f"{name}, m = 256: log density minus the exact GP's", "nats", low=-0.03),
            Measure("uci_small", f"{name}_seconds", f"{name}: seconds", "s", ratio=True),
        )
    ],
    *[
        row
        for name in ("power_plant", "kin8nm")
        for row in (
            Measure("uci_large", f"{name}_gain", f"{name}, m = 512: log density minus GPflow "
                    "SGPR's", "nats", low=0.0, rival="GPflow"),
            Measure("uci_large", f"{name}_seconds", f"{name}: seconds", "s", ratio=True),
            Measure("uci_large", f"{name}_n_iter", f"{name}: iterations of L-BFGS"),
        )
    ],
    Measure("uci_large", "power_plant_worst_rmse", "power_plant: RMSE of the worst split", "sd",
            high=0.3),
    Measure("noise_floor", "nlpd", "noise sd 1e-6: NLPD", "nats", high=0.0),
    Measure("kin40k", "coverage", "kin40k: 90 % intervals cover", low=0.87, high=0.93),
    Measure("uci_large", "power_plant_coverage", "power_plant: 90 % intervals cover",
            low=0.87, high=0.93),
    Measure("california", "coverage", "California housing, m = 512: 90 % intervals cover",
            low=0.87, high=0.95),
]  # fmt: skip
