"""Rows of regression with defaults: how well it predicts."""

from tables.measure import Measure

ACCURACY = [
    Measure("airline_accuracy", "rmse", "AIRLINE, m = 1000, max_time = 540: RMSE", "min",
            high=34.6, reference="boosting 34.46"),
    Measure("airline_accuracy", "log_density_gain",
            "AIRLINE: log density above the better boosting's", "nats", low=0.0),
    Measure("airline_accuracy", "seconds", "AIRLINE: seconds of that fit", "s"),
    Measure("kin40k", "rmse", "kin40k, m = 512, within 300 s: RMSE", "sd", high=0.16,
            reference="GPflow SGPR 0.1605"),
    Measure("kin40k", "nlpd", "kin40k: NLPD", "nats", high=-0.36,
            reference="GPflow SGPR -0.349"),
    *[
        Measure("uci_small", f"{name}_gain",
                f"{name}, m = 256: log density minus the exact GP's", "nats", low=-0.03)
        for name in ("concrete", "energy", "wine_red", "yacht")
    ],
    *[
        Measure("uci_large", f"{name}_gain",
                f"{name}, m = 512: log density minus GPflow SGPR's", "nats", low=0.0)
        for name in ("power_plant", "kin8nm")
    ],
    Measure("uci_large", "power_plant_worst_rmse", "power_plant: RMSE of the worst split", "sd",
            high=0.3, reference="GPy 1e12 (breaks)"),
    Measure("noise_floor", "nlpd", "noise sd 1e-6: NLPD", "nats", high=0.0,
            reference="GPyTorch on such a set 3784"),
    Measure("kin40k", "coverage", "kin40k: 90 % intervals cover", low=0.87, high=0.93),
    Measure("uci_large", "power_plant_coverage", "power_plant: 90 % intervals cover",
            low=0.87, high=0.93),
    Measure("california", "coverage", "California housing: 90 % intervals cover",
            low=0.87, high=0.95),
]  # fmt: skip
