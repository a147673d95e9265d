"""GPyTorch's SVGP as its natural gradient notebook uses it.

``NaturalVariationalDistribution`` with NGD steps of 0.1, Adam steps of 0.01 on kernel, noise and
inducing inputs, in the same iteration; float32 unless said. Start: the problem's inducing inputs,
unit variance, length scales sqrt(d), noise 0.1, like ours. In GPyTorch's favour: minibatches are
taken by index rather than through a ``DataLoader``, and the first step is not counted.
"""

import gpytorch
import numpy as np
import torch
from meters import median_seconds, train
from problems.batches import minibatches
from protocol import allow, emit, main
from scoring import scores

BATCH = 1000
_EVALUATION_CHUNK = 2000


class _SVGP(gpytorch.models.ApproximateGP):
    def __init__(self, Z):
        distribution = gpytorch.variational.NaturalVariationalDistribution(len(Z))
        strategy = gpytorch.variational.VariationalStrategy(
            self, Z, distribution, learn_inducing_locations=True
        )
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ZeroMean()
        d = Z.shape[1]
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=d))
        self.covar_module.outputscale = 1.0
        self.covar_module.base_kernel.lengthscale = torch.full((1, d), float(np.sqrt(d)))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def _built(problem, dtype):
    torch.manual_seed(0)
    torch.set_default_dtype(getattr(torch, dtype))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.1
    return _SVGP(torch.tensor(problem.Z, dtype=torch.get_default_dtype())), likelihood


def _step(problem, model, likelihood):
    """Function that takes one stochastic step."""
    X = torch.tensor(problem.X, dtype=torch.get_default_dtype())
    y = torch.tensor(problem.y, dtype=torch.get_default_dtype())
    natural = gpytorch.optim.NGD(model.variational_parameters(), num_data=len(y), lr=0.1)
    adam = torch.optim.Adam([*model.hyperparameters(), *likelihood.parameters()], lr=0.01)
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
    indices = minibatches(len(y), BATCH)

    def step():
        index = torch.from_numpy(next(indices))
        model.train()
        likelihood.train()
        natural.zero_grad()
        adam.zero_grad()
        loss = -objective(model(X[index]), y[index])
        loss.backward()
        natural.step()
        adam.step()

    return step


def _predicted(model, likelihood, X, chunk):
    """Means and standard deviations, a chunk at a time."""
    model.eval()
    likelihood.eval()
    means, stds = [], []
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        for lo in range(0, len(X), chunk):
            prediction = likelihood(model(X[lo : lo + chunk]))
            means.append(prediction.mean.numpy())
            stds.append(prediction.stddev.numpy())
    return np.concatenate(means).astype(np.float64), np.concatenate(stds).astype(np.float64)


def curve(problem, *, seconds, dtype="float32"):
    """Test scores at growing intervals of training time; evaluation is not counted."""
    allow(seconds=seconds, dtype=dtype)
    model, likelihood = _built(problem, dtype)
    X_test = torch.tensor(problem.X_test, dtype=torch.get_default_dtype())

    def evaluate():
        return scores(problem.y_test, *_predicted(model, likelihood, X_test, _EVALUATION_CHUNK))

    train(_step(problem, model, likelihood), evaluate, seconds)


def micro(problem, *, repeats):
    """A stochastic step in both precisions."""
    allow(repeats=repeats)
    for dtype in ("float64", "float32"):
        step = _step(problem, *_built(problem, dtype))
        emit(part="step", dtype=dtype, seconds=median_seconds(step, repeats, 10))


def predict(problem, *, rows, chunk):
    """Rows per second of mean and standard deviation, float64."""
    model, likelihood = _built(problem, "float64")
    X = torch.tensor(np.resize(problem.X_test, (rows, problem.X.shape[1])))
    seconds = median_seconds(lambda: _predicted(model, likelihood, X, chunk), 3, 1)
    emit(rows_per_second=rows / seconds)


def versions(_):
    emit(gpytorch=gpytorch.__version__, torch=torch.__version__, numpy=np.__version__)


if __name__ == "__main__":
    main([curve, micro, predict, versions])
