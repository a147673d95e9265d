"""Which part of a fit gets which share of a time budget: the one table of them.

Without ``max_time`` none of these counts. Where not said otherwise a share is one of the time that
is left when the part begins, what the finish needs being kept apart.
"""

# ---- The finish, of the whole budget at most: q(u) of a part of the rows is far worse than
# hyperparameters that were learned from a few, and blocks and sites take longer than sums of rows.
FINISH, FINISH_OF_BLOCKS, FINISH_OF_SITES = 0.5, 0.8, 0.7
# A measurement of the finish that took more of the budget is not made again, nor with more blocks.
MEASURING = 0.02

# ---- Variational bounds
# A stage where another one follows, trials of default kernels within the first, and the time in
# which a later stage must be able to make some evaluations.
STAGE, KERNELS, REFINEMENT = 0.3, 0.5, 0.6
# Regressions of labels that tell a start, and q(u) while variances of classes are compared.
START_OF_CLASSES, VARIANCE_OF_CLASSES = 0.2, 0.5

# ---- Groups of near rows, and blocks
# All trials of starts; the two best ones further; where some columns are categories, trials of
# numbers alone, and then of the others.
TRIALS, FINALISTS, TRIALS_OF_NUMBERS, TRIALS_OF_CATEGORIES = 0.5, 0.6, 0.25, 0.35
# Groups that judge a start of sites, of its trial; short length scales; groups that judge what the
# noise is; left-out labels, each of some ten times, of the whole budget.
JUDGING_SITES, SHORT_SCALES, JUDGING_NOISE, JUDGING_LABELS = 0.1, 0.1, 0.02, 0.02
# The bound of rows where few blocks can be evaluated, and the one that sites begin with.
ROWS_BEFORE_BLOCKS, BOUND_BEFORE_SITES = 0.4, 0.25
# Temperatures of classes, of the whole budget.
TEMPERATURES = 0.1

# ---- Targets and noise
# Warps of the targets or `alpha_epsilon`, of the whole budget; within that kernel and noise for the
# first time, with the best power of the targets, and without a warp, and then warps.
TARGETS, WARP_STEP, WARP_SHAPES = 0.2, 0.2, 0.4
# The end of function and noise, of the whole budget, and of that the end of the first fit, with the
# same noise everywhere. With 0.95 and 0.65, and all rows left out for what follows, 5,000 rows of
# california_housing on a machine of half the speed were done after 9.2 of 5 s, now after 6.2.
FUNCTION_AND_NOISE, EQUAL_NOISE = 0.9, 0.6
# Few rows without a warp, where the targets are warped.
PLAIN_FIRST = 0.4
# Errors of all rows, which tails need; the noise as a function of the input, the latter at least of
# the whole budget.
TAILS, LOG_NOISE, LEAST_LOG_NOISE = 0.3, 0.2, 0.02
# Rows that are left out for the scale of variances, for bands and for means.
VARIANCE_SCALE, BANDS, MEANS = 0.5, 0.3, 0.4

# ---- Latent inputs
# Of the whole budget: the end of L-BFGS where rows follow that it has not seen, where none do, and
# the end of minibatches.
LBFGS_OF_SAMPLE, LBFGS, MINIBATCHES = 0.35, 0.85, 0.75
# Entries that nothing was learned from; the last passes where calibration follows them; one of
# these; rows that no step has met; rows under the model of an earlier fit; rows of a later batch
# for the first time.
LEFT_OUT_ENTRIES, LAST_PASSES, LAST_TURN = 0.25, 0.75, 0.4
UNMET_ROWS, EARLIER_MODEL, FIRST_PASS = 0.4, 0.1, 0.5
