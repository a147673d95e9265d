"""What schedules, steps and later batches ask of an inference: how q(u) is found."""

from typing import NamedTuple, Protocol


class Added(NamedTuple):
    """q(u) after some rows were added, the estimate of the bound, and how to get its gradient.

    ``scalars`` (`RowSums`) are those of the rows, None where no collapsed bound needs them.
    """

    q: object
    terms: object
    scalars: object


class LearningInference(Protocol):
    """Finds q(u) while kernel and inducing inputs are learned from rows in memory.

    Attributes
    ----------
    cost, last_cost : int
        Of a pass while learning, and of one for the last q(u), in passes with one H.
    known : tuple or None
        The q(u) at which a run begins, and the weight of the rows that it rests on; None for the
        prior's, and where q(u) has a closed form.
    """

    cost: int
    last_cost: int
    known: object

    def objective(self, space, parameters, rows, delta, has_learned, n_jobs, deadline):
        """Return space with units for a run of L-BFGS, its objective, and what it comes to know.

        Parameters
        ----------
        parameters : Parameters
            Where the run begins.
        delta : float
            Jitter in units of the kernel.
        has_learned : bool
            Whether something has been learned before.
        deadline : float
            Reading of time.perf_counter() at which the run should be over.

        Returns
        -------
        space : ParameterSpace
        objective : callable
            ``objective(parameters) -> (value, Gradient)``.
        known_now : callable
            Returns what the next run is to know.
        """

    def knowing(self, known):
        """Return an inference whose runs begin at another q(u); see ``known``."""

    def selection_score(self, parameters, rows, settings, value, bic_penalty):
        """Return the selection score of learned parameters, to compare kernels by.

        ``value`` is the bound, and the penalty of the kernel's parameters is in the same nats.
        """

    def densities(self, prior, parameters, rows, others, n_jobs):
        """Return log densities (n,) of other rows, given those that were learned from.

        Noise counts as the same everywhere.
        """

    def pass_task(self, prior, parameters, rows, sample, n_jobs):
        """Return a task on a sample, and how many of it the last q(u) takes for each row."""


class Inference(LearningInference, Protocol):
    """Finds the q(u) that is kept, too, and changes it by rows that come."""

    def predictor(self, posterior, noise_variance):
        """Return the predictor of a posterior."""

    def posterior(self, prior, parameters, rows, n_jobs, seconds):
        """Find q(u), the bound and scalar sums, from all rows, in the seconds left."""

    def add(self, posterior, parameters, rows, *, scale, is_new, natural_step, gradient, n_jobs):
        """Update q(u) with more rows.

        Parameters
        ----------
        scale : float
            Number of all rows, these included, divided by that of these rows.
        is_new : bool
            Whether the rows are added to those before; else q(u) moves by ``natural_step`` towards
            what the rows ask for, as if they stood for all.
        gradient : {None, False, True}
            None where no terms are wanted; else whether their gradient has the part in Z.

        Returns
        -------
        added : Added
            The terms are those at the new q(u).
        """

    def bound(self, posterior, parameters, scalars):
        """Compute the collapsed bound from the scalar sums of all rows; for who gives such sums."""

    def estimate(self, posterior, parameters, rows, scale, terms):
        """Estimate the bound for all rows from the last ones."""


class MinibatchInference(Inference, Protocol):
    """Takes stochastic steps, too."""

    def first_q(self, prior, parameters, rows, settings):
        """Return q(u) before any data, in suitable coordinates."""

    def under(self, q, prior, parameters, rows, settings):
        """Return q(u) under another prior, its data part held in the coordinates that it is in."""

    def minibatch(self, q, parameters, batch, scale, with_inputs, n_jobs=None):
        """Return `MinibatchTerms` of a batch whose rows count ``scale`` times."""
