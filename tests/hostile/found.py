"""Cases that the campaign found, with the seed that found them and what came then."""

from hostile_cases import Case
from hostile_tables import Table

FOUND = [
    # seed, what came, the case
    (
        531,
        "RuntimeWarning: overflow in the square of a gradient, in Adam",
        Case(
            "SVGPClassifier",
            table=Table(seed=995, n=2, d=2, x_scale=1e-100, targets="two classes"),
            course="batches",
            later=Table(seed=62, n=5, d=2, targets="two classes"),
            points=Table(seed=3, n=1, d=2, x_scale=1e-100, targets="two classes"),
        ),
    ),
    (
        530,
        "RuntimeWarning: invalid cast of labels of 1e300",
        Case(
            "SVGPClassifier",
            table=Table(n=1, d=2, targets="two classes", spoilt="a huge number in y"),
            points=Table(n=5, d=2, targets="two classes"),
        ),
    ),
    (
        0,
        "IndexError in a later batch where max_time left no entry of fit_times_",
        Case(
            estimator="BayesianGPLVM",
            parameters=(("max_time", 1e-09),),
            table=Table(n=2),
            course="batches",
        ),
    ),
    (
        1,
        "UnboundLocalError where the first step in q(u) fails and no time is left",
        Case(
            parameters=(
                ("max_time", 0.05),
                ("likelihood", "HeteroscedasticGaussian(n_inducing=3)"),
            ),
            table=Table(weights="one huge"),
        ),
    ),
    (
        1,
        "RuntimeWarning: overflow with rows 1e153 standard deviations away",
        Case(
            estimator="BayesianGPLVM",
            table=Table(x_scale=1e-150),
            points=Table(seed=281, n=20, inputs="nearly one line", x_shift=-1000.0, layout="lists"),
        ),
    ),
    (
        1,
        "RuntimeWarning: overflow with numbers of 1e90 that are not scaled",
        Case(
            estimator="BayesianGPLVM",
            parameters=(("normalize", False),),
            table=Table(x_shift=-1e90),
        ),
    ),
    (
        2,
        "RuntimeWarning: overflow far from columns that were constant",
        Case(
            estimator="BayesianGPLVM",
            table=Table(n=5, d=5, x_shift=-1e90),
            points=Table(seed=529, n=8, d=5),
        ),
    ),
    (
        8,
        "RuntimeWarning: sum of infinities of both signs, beside the error",
        Case(estimator="AnytimeSGPRegressor", table=Table(x_scale=1e98, layout="single precision")),
    ),
    (
        8,
        "sf above 1 by rounding",
        Case(
            estimator="StreamingSGPRegressor",
            parameters=(("likelihood", "student_t"), ("normalize_y", (3.0, 0.001))),
            table=Table(y_shift=-1000.0),
            points=Table(seed=313, n=45, y_shift=-1000.0),
        ),
    ),
    (
        20,
        "cdf above 1 by rounding",
        Case(
            estimator="AnytimeSGPRegressor",
            parameters=(("likelihood", "heteroscedastic_student_t"),),
            table=Table(n=45, d=3, n_outputs=3, weights="integers", layout="half precision"),
        ),
    ),
    (
        15,
        "RuntimeWarning: infinities in half precision at a prediction",
        Case(
            table=Table(n=1),
            points=Table(seed=160, n=13, inputs="sorted", x_scale=1e300, layout="half precision"),
        ),
    ),
    (
        17,
        "RuntimeWarning: overflow, as equal numbers of 1e90 differ from their mean",
        Case(
            estimator="BayesianGPLVM",
            parameters=(("noise_variance", 1e-06), ("kernel", "scaled RBF")),
            table=Table(d=10),
            course="fit, fit",
            later=Table(seed=330, n=5, d=10, x_shift=-1e90),
            points=Table(seed=289, n=13, d=10, x_shift=100000000.0),
        ),
    ),
    (
        20,
        "an error without a name: NaN among truth values as labels",
        Case(estimator="SVGPClassifier", table=Table(targets="truth values", spoilt="NaN in y")),
    ),
    (
        20,
        "RuntimeWarning: overflow of rows 1e150 length scales away",
        Case(
            table=Table(d=2, x_scale=1e-150, n_outputs=2, weights="one huge"),
            course="batches",
            later=Table(seed=751, n=3, d=2, y_scale=0.001, n_outputs=2, weights="one huge"),
            points=Table(
                seed=259, n=13, d=2, x_scale=1e-150, x_shift=1.0, y_scale=0.001, n_outputs=2
            ),
        ),
    ),
    (
        26,
        "RuntimeWarning: a Yeo-Johnson power around 1e30 took log1p(-1)",
        Case(
            parameters=(("normalize_y", "yeo-johnson"),),
            table=Table(d=5),
            course="fit, fit",
            later=Table(seed=999, n=60, d=5, x_scale=0.001, y_scale=1e30, weights="one tiny"),
            points=Table(seed=88, n=20, d=5),
        ),
    ),
    (
        28,
        "RuntimeWarning: overflow of a later batch 1e240 standard deviations away",
        Case(
            estimator="BayesianGPLVM",
            table=Table(d=2, x_scale=1e-150),
            course="fit, batch",
            later=Table(seed=87, n=20, d=2, x_scale=1e-150, x_shift=-1e90),
            points=Table(seed=36, n=8, d=2, x_scale=1e-150),
        ),
    ),
    (
        111,
        "RuntimeWarning: overflow in a pass whose sums are looked at later",
        Case(
            estimator="AnytimeSGPRegressor",
            parameters=(("likelihood", "heteroscedastic_student_t"),),
            table=Table(seed=763, d=200, spoilt="X of three axes"),
            course="fit, fit",
            later=Table(
                seed=323,
                n=20,
                d=200,
                inputs="nearly one place",
                weights="all sizes",
                layout="lists",
            ),
            points=Table(seed=211, n=8, d=200),
        ),
    ),
    (
        123,
        "IndexError in a batch where a cubic kernel is not finite; NaN as std in predictions there",
        Case(
            estimator="StreamingSGPRegressor",
            parameters=(("kernel", "cubic"),),
            table=Table(d=2, layout="pandas"),
            course="fit, batch",
            later=Table(seed=715, n=2, d=2, x_scale=1e98, layout="pandas"),
            points=Table(seed=32, n=30, d=2, x_scale=1e98),
        ),
    ),
    (
        126,
        "RuntimeWarning: expected noise overflows far from all rows",
        Case(
            estimator="StreamingSGPRegressor",
            parameters=(
                ("optimize_inducing", False),
                ("inducing", "one place"),
                ("likelihood", "heteroscedastic"),
            ),
            table=Table(seed=512, n=8, d=5, targets="an outlier"),
            points=Table(
                seed=324, n=45, d=5, x_scale=100000000.0, x_shift=1e16, targets="an outlier"
            ),
        ),
    ),
    (
        129,
        "NaN in drawn functions: a cosine of infinity",
        Case(table=Table(n=30, d=2, x_shift=-1e90)),
    ),
    (
        20000,
        "the oracle asked for predictions at rows that had not been those of the fit",
        Case(
            estimator="StreamingSGPRegressor",
            table=Table(
                seed=678, n=1, d=2, inputs="integers", x_scale=1e150, spoilt="a large number in X"
            ),
        ),
    ),
    (
        30009,
        "RuntimeWarning: a move of 1e-155 in q(x), of which a curvature was taken",
        Case(
            estimator="BayesianGPLVM",
            parameters=(("normalize", False),),
            table=Table(inputs="units of all sizes", x_scale=1e-150),
        ),
    ),
    (
        40002,
        "RuntimeWarning: gradients of an evidence at targets 1e150 deviations away",
        Case(
            parameters=(("optimizer", None), ("n_inducing", 1), ("kernel", "Matern 1/2")),
            table=Table(seed=358, n=45, x_scale=1e-150, y_scale=1e-150, weights="some zero"),
            points=Table(
                seed=80,
                n=3,
                inputs="one row far away",
                x_scale=1e-150,
                weights="some zero",
                layout="reversed",
            ),
        ),
    ),
    (
        40010,
        "RuntimeWarning: a gradient in inducing inputs, 1e108 deviations off, in units of 1e-100",
        Case(
            estimator="StreamingSGPRegressor",
            table=Table(n=750, d=2, x_scale=1e-100, y_scale=1e-100),
            course="fit, batch",
            later=Table(seed=952, n=300, d=2, x_scale=1e-100, y_scale=1e8, weights="random"),
            points=Table(seed=250, n=8, d=2, y_scale=1e-100),
        ),
    ),
    (
        41002,
        "an error from the diagram of a fitted estimator whose parameter was set to what cannot be",
        Case(
            estimator="AnytimeSGPClassifier",
            table=Table(targets="two classes"),
            course="fit, fit",
            changed=(("n_inducing", 2), ("alpha_divergence", 0.0)),
        ),
    ),
    (
        50010,
        "IndexError: predictions before a fit, of a kernel on a column that is not there",
        Case(
            parameters=(("kernel", "a column too far"),),
            table=Table(seed=280, n=30, d=5, targets="zero"),
            points=Table(seed=152, n=30, d=5, targets="zero"),
        ),
    ),
    (
        50021,
        "1e300 as a target of a row of weight zero was taken by a stream's fit without a word",
        Case(
            estimator="StreamingSGPRegressor",
            table=Table(seed=326, n=45, weights="some zero", spoilt="a huge number in y"),
        ),
    ),
    (
        50037,
        "RuntimeWarning: columns in units of 1e98 at latent inputs where a cubic kernel is 1e180",
        Case(
            estimator="BayesianGPLVM",
            parameters=(("kernel", "cubic"),),
            table=Table(seed=128, n=20, d=5, x_scale=1e98),
            points=Table(seed=143, n=5, d=5, x_scale=1e98),
        ),
    ),
    (
        50007,
        "an endless ladder: jitter=0.0 was raised tenfold, to zero",
        Case(
            estimator="AnytimeSGPRegressor",
            parameters=(("jitter", 0.0),),
            table=Table(seed=134, n=5, inputs="sorted", weights="huge"),
            points=Table(seed=152, n=8, inputs="sorted", weights="huge"),
        ),
    ),
    (
        60003,
        "RuntimeWarning: the share of targets of 1e-300 that is explained",
        Case(parameters=(("init_size", 5),), table=Table(n=60, targets="noise", y_scale=1e-300)),
    ),
    (
        61008,
        "ValueError of numpy: rows with a weight joined by rows with one for each output",
        Case(
            estimator="AnytimeSGPRegressor",
            parameters=(("likelihood", "heteroscedastic_student_t"), ("max_time", 1e-09)),
            table=Table(d=3, n_outputs=2, weights="integers"),
            course="batches",
            later=Table(seed=280, n=2, d=3, n_outputs=2, weights="integers"),
            points=Table(seed=218, n=3, d=3, n_outputs=2, weights="integers"),
        ),
    ),
    (
        70004,
        "IndexError: two noise variances for three outputs, where a warp is learned",
        Case(
            parameters=(("noise_variance", (0.1, 0.001)), ("normalize_y", "warped")),
            table=Table(n_outputs=3),
            later=Table(n_outputs=3),
            points=Table(n_outputs=3),
        ),
    ),
    (
        81014,
        "RuntimeWarning: overflow of a prior's variance, before a fit",
        Case(
            parameters=(("kernel", "powers"),),
            table=Table(n=20, x_scale=1e98),
            points=Table(n=60, x_scale=1e98),
        ),
    ),
    (
        80029,
        "RuntimeWarning: units of inducing inputs whose coefficients all but one vanish",
        Case(
            parameters=(("n_restarts_optimizer", 1),),
            table=Table(seed=800, n=30, d=5, y_shift=1.0),
            course="batch, fit",
            later=Table(seed=266, n=45, d=5, y_shift=1.0),
            points=Table(seed=523, n=1, d=5, y_shift=1.0),
        ),
    ),
    (
        94007,
        "a rate, and its standard deviation, of zero where a huge count had moved the function far",
        Case(
            estimator="StreamingSGPRegressor",
            parameters=(("inducing", "rows"), ("n_inducing", 2), ("likelihood", "Poisson()")),
            table=Table(seed=607, n=45, targets="one huge count", layout="half precision"),
            course="batches",
            later=Table(seed=692, n=2, targets="one huge count", layout="half precision"),
            points=Table(seed=151, n=3, targets="one huge count", layout="half precision"),
        ),
    ),
    (
        97008,
        "RuntimeWarning: the expected precision where nothing is known of the log noise",
        Case(
            estimator="StreamingSGPRegressor",
            parameters=(("likelihood", "auto"),),
            table=Table(
                seed=124,
                n=3,
                d=3,
                targets="an outlier",
                y_shift=1e8,
                n_outputs=2,
                weights="some zero",
            ),
            course="batches",
            later=Table(
                seed=998, n=5, d=3, x_scale=1e-100, y_shift=1e8, n_outputs=2, weights="some zero"
            ),
            points=Table(
                seed=915,
                n=45,
                d=3,
                x_scale=1e-100,
                targets="an outlier",
                y_shift=1e8,
                n_outputs=2,
                weights="some zero",
            ),
        ),
    ),
    (
        98038,
        "RuntimeWarning: the sum of infinities of both signs among mixed outputs (98045, too)",
        Case(
            parameters=(("n_latent", 2),),
            table=Table(
                n=20,
                d=3,
                targets="noise",
                y_scale=1e150,
                n_outputs=3,
                y_layout="single precision",
            ),
            points=Table(n=5, d=3, targets="noise", n_outputs=3),
        ),
    ),
    (
        98038,
        "LinAlgError: the covariance of outputs whose shared functions are far above the noise",
        Case(
            parameters=(("kernel", "cubic"), ("n_latent", 1)),
            table=Table(
                seed=98, n=20, inputs="far clusters", x_shift=-1000.0, n_outputs=2, weights="huge"
            ),
            points=Table(
                seed=53, n=60, inputs="far clusters", x_shift=-1000.0, n_outputs=2, weights="huge"
            ),
        ),
    ),
    (
        105037,
        "AttributeError of the campaign's own: one theta of a kernel for each shared function",
        Case(
            "SVGPRegressor",
            parameters=(("kernel", "a kernel for each"), ("n_latent", 2)),
            table=Table(n=20, d=3, n_outputs=2),
            points=Table(n=5, d=3, n_outputs=2),
        ),
    ),
    (
        107045,
        "1e300 as a target of weight zero was taken by a stream's first batch without a word",
        Case(
            estimator="StreamingSGPRegressor",
            table=Table(
                seed=266, n=8, d=3, weights="all zero but one", spoilt="a huge number in y"
            ),
            course="batch",
        ),
    ),
    (
        112024,
        "RuntimeWarning of the campaign's own: inducing inputs far away from inputs of 1e304",
        Case(
            estimator="StreamingSGPRegressor",
            parameters=(("inducing", "far away"),),
            table=Table(seed=271, n=2, d=2, inputs="one row far away", x_scale=1e300),
            course="batches",
        ),
    ),
    (
        400000,
        "RuntimeWarning: the logarithm of half a sum that is zero, of a peak at one node alone",
        Case(
            estimator="AnytimeSGPRegressor",
            parameters=(
                ("kernel", "huge constant"),
                ("max_time", 1e-09),
                ("likelihood", "Poisson()"),
            ),
            table=Table(seed=102, n=1, x_shift=1e8, targets="counts", spoilt="X without columns"),
            course="batches",
            later=Table(seed=252, n=2, x_shift=1e8, targets="counts"),
            points=Table(seed=388, n=2, x_shift=1e8, targets="counts"),
        ),
    ),
    (
        400002,
        "ComplexWarning: complex numbers as what is added to the function",
        Case(
            "SVGPClassifier",
            parameters=(("offset_column", 1),),
            table=Table(seed=125, n=60, d=5, targets="two classes", spoilt="complex X"),
            points=Table(n=3, d=5, targets="two classes"),
        ),
    ),
    (
        400014,
        "RuntimeWarning: relations of columns under a weight that is refused later",
        Case(
            "AnytimeSGPRegressor",
            table=Table(seed=2, n=13, d=60, spoilt="huge weight"),
            points=Table(seed=80, n=5, d=60),
        ),
    ),
    (
        500000,
        "TypeError: regressions of grades, which have none, where a first batch is not explained",
        Case(
            estimator="StreamingSGPClassifier",
            parameters=(("likelihood", "ordinal"),),
            table=Table(n=60, targets="ten classes"),
        ),
    ),
    (
        520000,
        "RuntimeWarning: the fourth power of rounding of a constant column, with huge weights",
        Case(
            estimator="SVGPClassifier",
            table=Table(n=13, x_shift=-1e90, targets="two classes", weights="huge"),
        ),
    ),
    (
        520003,
        "RuntimeWarning: a scale of 1 for targets of 1e-300, in later batches of a stream",
        Case(
            estimator="StreamingSGPRegressor",
            table=Table(n=13, d=2, y_scale=1e-300, n_outputs=3),
            course="batches",
            later=Table(seed=5, n=8, d=2, y_scale=1e-300, n_outputs=3),
            points=Table(n=5, d=2, y_scale=1e-300, n_outputs=3),
        ),
    ),
    (
        611001,
        "IndexError in a short batch of outputs that mix one function",
        Case(
            estimator="StreamingSGPRegressor",
            parameters=(("n_latent", 1),),
            table=Table(n=30, d=5, x_scale=1e-150, x_shift=1e16, n_outputs=3),
            course="batches",
            later=Table(n=2, d=5, x_scale=1e-150, x_shift=1e16, n_outputs=3),
            points=Table(n=5, d=5, x_scale=1e-150, x_shift=1e16, n_outputs=3),
        ),
    ),
    (
        720004,
        "OverflowError: the square of a jitter, where one row says the size of the targets",
        Case(
            "SVGPRegressor",
            table=Table(n=1, y_scale=1e98),
            points=Table(n=3, y_scale=1e98),
        ),
    ),
    (
        29112025,
        "RuntimeWarning: inducing inputs of 1e4 in standard units of columns of 1e-300",
        Case(
            "SVGPRegressor",
            parameters=(("inducing", "far away"),),
            table=Table(n=30, d=2, x_scale=1e-300),
            points=Table(n=5, d=2, x_scale=1e-300),
        ),
    ),
    (
        29112027,
        "ValueError of the campaign's own: no sparse arrays of words",
        Case(
            "AnytimeSGPRegressor",
            table=Table(seed=192, n=45, d=3, spoilt="sparse X", blocks="words"),
            points=Table(n=3, d=3, blocks="words"),
        ),
    ),
    (
        29112033,
        "RuntimeWarning: frequencies of drawn functions beside length scales of 1e-309",
        Case(
            "SVGPRegressor",
            table=Table(seed=999, n=5, d=5, x_scale=1e-300, weights="one huge"),
            points=Table(seed=147, n=3, d=5, x_scale=1e-300),
        ),
    ),
    (
        29112039,
        "TypeError: scores of labels compared with that of sites that cannot be evaluated",
        Case(
            "AnytimeSGPClassifier",
            table=Table(
                seed=600,
                n=20,
                d=2,
                inputs="one line",
                targets="two classes",
                weights="huge",
                missing="most",
            ),
            points=Table(seed=241, n=8, d=2, inputs="one line", targets="two classes"),
        ),
    ),
    (
        44000,
        "AttributeError: lists with labels of blocks, and a mask of the columns of categories",
        Case(
            "AnytimeSGPRegressor",
            parameters=(("categorical_features", (True,)),),
            table=Table(n=13, d=5, layout="lists", blocks="one"),
            points=Table(n=3, d=5, layout="lists", blocks="one"),
        ),
    ),
    (
        20000,
        "of the campaign's own: a batch without rows is none, of streams of classes as well",
        Case(
            "StreamingSGPClassifier",
            table=Table(seed=107, n=13, d=3, targets="three words"),
            course="fit, batch",
            later=Table(seed=179, n=300, d=3, targets="three words", spoilt="X without rows"),
            points=Table(seed=888, n=1, d=3, targets="three words"),
        ),
    ),
    (
        20001,
        "1e300 in the column of offsets was taken without a word",
        Case(
            "SVGPRegressor",
            parameters=(("offset_column", 0), ("normalize_y", False), ("likelihood", "poisson")),
            table=Table(seed=902, n=30, d=2, targets="counts", spoilt="a huge number in X"),
            points=Table(seed=312, n=5, d=2, targets="counts"),
        ),
    ),
    (
        20002,
        "RuntimeWarning: a step between targets that are equal but for the rounding of 1e16",
        Case(
            "AnytimeSGPRegressor",
            table=Table(seed=5, n=1500, d=1, targets="all sizes", y_shift=1e16),
            points=Table(seed=5, n=5, d=1, targets="all sizes", y_shift=1e16),
        ),
    ),
    (
        20005,
        "ZeroDivisionError: each of five rows is all that is known where it is left out",
        Case(
            "AnytimeSGPClassifier",
            parameters=(("schedule", "robbins-monro"),),
            table=Table(seed=250, n=5, d=3, inputs="nearly one place", targets="two classes"),
            course="batch, fit",
            later=Table(seed=500, n=2, d=3, inputs="nearly one place", targets="two classes"),
            points=Table(seed=333, n=2, d=3, inputs="nearly one place", targets="two classes"),
        ),
    ),
    (
        20006,
        "of the campaign's own: words in a row whose target is missing, which streams leave out",
        Case(
            "StreamingSGPRegressor",
            parameters=(("normalize_y", False), ("batch_size", 4)),
            table=Table(
                seed=278,
                n=13,
                d=5,
                inputs="a constant column",
                x_scale=1e-08,
                x_shift=1.0,
                spoilt="words in X",
                missing="targets",
            ),
        ),
    ),
    (
        20006,
        "RuntimeWarning: noise over the variance of targets of 1e-30 that are -3 to all digits",
        Case(
            "SVGPRegressor",
            parameters=(("normalize_y", (3.0, 0.001)), ("tol", 1000.0), ("jitter", 1e-06)),
            table=Table(seed=124, n=3, d=5, inputs="heavy tails", y_scale=1e-30),
            course="fit, fit",
            later=Table(seed=638, n=8, d=5, inputs="heavy tails", y_scale=1e-30),
        ),
    ),
    (
        20019,
        "ValueError of scipy: kernel and noise are held, and inducing inputs alone are learned",
        Case(
            "SVGPRegressor",
            parameters=(("normalize_y", "warped"), ("likelihood", "heteroscedastic")),
            table=Table(seed=52, n=3000, d=1, y_scale=1e-30, n_outputs=3, weights="sum to one"),
            points=Table(seed=91, n=5, d=1, y_scale=1e-30, n_outputs=3),
        ),
    ),
]
