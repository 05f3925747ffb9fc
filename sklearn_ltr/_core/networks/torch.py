"""A PyTorch module as a network: forward pass to scores, backward pass to gradients.

The current weights are ndarrays outside the module.  The optimizer updates them in
place, and they are copied into the module before every pass.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.networks.network import PREDICTION_BATCH
from sklearn_ltr._core.typing import Float32Array


class TorchNetwork:
    """A wrapper to train a PyTorch module to rank: ``LambdaRankRanker(network=...)``.

    Training starts from the module's own weights; the ranker's `random_state` does not
    draw new ones.  PyTorch uses its own threads (``torch.set_num_threads``), whatever
    `n_jobs` is.

    Parameters
    ----------
    module : torch.nn.Module
        Maps float32 features, (n_documents, n_features), to scores, (n_documents,) or
        (n_documents, 1).  Parameters that require a gradient are trained, and must be
        float32; the others stay as they are.  The module is in training mode in forward
        passes of training, and in evaluation mode at prediction.  A ranker trains a
        copy of it.
    device : str or torch.device, default="cpu"
        Device that the module runs on: "cpu", "cuda", "cuda:1", ...  May be changed at
        any time; a fitted ranker that was pickled on a machine with a GPU can be used
        on one without after ``ranker.network_.device = "cpu"``.

    Raises
    ------
    TypeError
        If `module` is not a ``torch.nn.Module``.
    ValueError
        If none of its parameters requires a gradient, or one that does is not float32.

    Notes
    -----
    Buffers that are not parameters, such as the running means of ``BatchNorm``, are
    updated by the forward passes of training.  Early stopping restores the best
    weights, but not these buffers, which stay as they are after the last epoch.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> from torch import nn  # doctest: +SKIP
    >>> from sklearn_ltr import LambdaRankRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr import TorchNetwork
    >>> data = make_ranking(20, random_state=0)
    >>> _ = torch.manual_seed(0)  # initial weights and dropout  # doctest: +SKIP
    >>> module = nn.Sequential(
    ...     nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 1)
    ... )  # doctest: +SKIP
    >>> ranker = LambdaRankRanker(
    ...     network=TorchNetwork(module), max_iter=2
    ... )  # doctest: +SKIP
    >>> ranker.fit(
    ...     data.data, data.target, groups=data.groups
    ... ).n_iter_  # doctest: +SKIP
    2
    """

    def __init__(self, module: Any, device: str | Any = "cpu") -> None:
        check_module(module)
        self.device = device
        self._module = module
        self._reset()

    def _reset(self) -> None:
        # copied from the module on first use
        self._weights: list[Float32Array] | None = None
        self._scores: Any = None  # tensor of the last forward pass, with its graph

    def __getstate__(self) -> dict[str, Any]:
        """Return the module, with the current weights and in CPU memory; the device."""
        module = self.module
        if any(t.device.type != "cpu" for t in _tensors(module)):
            module = deepcopy(module).cpu()
        return {"_module": module, "device": self.device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the module and the device, to which the next pass moves it."""
        vars(self).update(state)
        self._reset()

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"TorchNetwork({self._module!r}, device={str(self.device)!r})"

    @property
    def module(self) -> Any:
        """The module, with the current weights copied into it.

        To change the weights, write into `parameters`: the module's own
        are overwritten before the next pass.
        """
        import torch

        if self._weights is not None:
            with torch.no_grad():
                for p, w in zip(_trainable(self._module), self._weights, strict=True):
                    p.copy_(torch.from_numpy(w))
        return self._module

    @property
    def parameters(self) -> list[Float32Array]:
        """The weights that are trained, for updates in place."""
        if self._weights is None:
            self._weights = [_to_numpy(p) for p in _trainable(self._module)]
        return self._weights

    def forward(self, X: Float32Array) -> NDArray[np.float64]:
        """Return the scores of a batch, (n_documents,), and keep their graph.

        Raises
        ------
        TypeError, ValueError
            If the module does not return one score for each row, or its scores do not
            depend on its parameters.
        """
        import torch

        module = self._ready()
        module.train()
        with torch.enable_grad():
            scores = _scores_of(module, X, self.device)
        if not scores.requires_grad:
            raise ValueError(
                "the scores of the module do not depend on its parameters: use only "
                "torch in its forward (no detach, item or numpy)"
            )
        self._scores = scores
        return _to_float64(scores)

    def backward(self, score_gradient: NDArray[np.floating]) -> list[Float32Array]:
        """Return dC/dw of all `parameters`, given dC/ds of the last `forward`.

        The gradient of a parameter that the scores do not depend on is zero.

        Raises
        ------
        RuntimeError
            If `forward` was not called before.
        """
        import torch

        if self._scores is None:
            raise RuntimeError("backward(score_gradient) was called before forward(X)")
        scores, self._scores = self._scores, None
        gradients = torch.autograd.grad(
            scores,
            _trainable(self._module),
            torch.tensor(score_gradient, dtype=scores.dtype, device=scores.device),
            allow_unused=True,
        )
        return [
            np.zeros_like(w) if gradient is None else _to_numpy(gradient)
            for w, gradient in zip(self.parameters, gradients, strict=True)
        ]

    def predict(self, X: Float32Array) -> NDArray[np.float64]:
        """Return scores, (n_documents,), in evaluation mode and in batches of rows.

        Raises
        ------
        TypeError, ValueError
            If the module does not return one score for each row.
        """
        import torch

        module = self._ready()
        module.eval()
        scores = np.empty(len(X))
        with torch.no_grad():
            for start in range(0, len(X), PREDICTION_BATCH):
                rows = slice(start, start + PREDICTION_BATCH)
                scores[rows] = _to_float64(_scores_of(module, X[rows], self.device))
        return scores

    def _ready(self) -> Any:
        """Return the module on its device, with the current weights."""
        self._module.to(self.device)
        return self.module


def check_module(module: Any) -> None:
    """Raise a TypeError or ValueError unless a module can be trained."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {module!r}")
    if not _trainable(module):
        raise ValueError(
            "module has no parameter that requires a gradient: set requires_grad"
        )
    for name, p in module.named_parameters():
        if p.requires_grad and p.dtype != torch.float32:
            raise ValueError(
                f"the parameter {name!r} of the module is {p.dtype}, not float32: call "
                "module.float()"
            )


def _trainable(module: Any) -> list[Any]:
    return [p for p in module.parameters() if p.requires_grad]


def _tensors(module: Any) -> list[Any]:
    return [*module.parameters(), *module.buffers()]


def _to_numpy(tensor: Any) -> Float32Array:
    """Return a C-contiguous copy in CPU memory."""
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float32, order="C")


def _to_float64(scores: Any) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = scores.detach().cpu().double().numpy()
    return numbers


def _scores_of(module: Any, X: Float32Array, device: Any) -> Any:
    """Return the module's scores of X, a tensor of shape (n_documents,)."""
    import torch

    n = len(X)
    scores = module(torch.tensor(X, dtype=torch.float32, device=device))
    if not isinstance(scores, torch.Tensor):
        raise TypeError(
            f"the module must return a tensor of scores, got {type(scores).__name__}"
        )
    if scores.shape not in ((n,), (n, 1)):
        raise ValueError(
            f"the module must return one score for each row, {(n,)} or {(n, 1)} for "
            f"{n} rows, got shape {tuple(scores.shape)}"
        )
    return scores.reshape(n)
