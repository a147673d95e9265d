"""What `same_bits` runs: tables, configurations by estimator, and the questions to each."""
