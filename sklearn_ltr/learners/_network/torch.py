"""A PyTorch module as a network: scores forward, gradients backward.

The module computes; the weights that count are plain arrays outside it, which the
optimizer changes in place and which are copied into it before every pass.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

BLOCK = 8192  # rows that are scored at a time


class TorchNetwork:
    """A PyTorch module that learns to rank: ``LambdaRankRanker(network=...)``.

    ::

        import torch
        from torch import nn

        torch.manual_seed(0)  # draws the first weights, and what dropout leaves out
        module = nn.Sequential(nn.Linear(136, 64), nn.ReLU(), nn.Linear(64, 1))
        ranker = LambdaRankRanker(network=TorchNetwork(module), batch_size=16)
        make_pipeline(StandardScaler(), ranker).fit(X, y, lambdarankranker__groups=g)

    The module's first weights are those that training starts from; `random_state` of
    the ranker does not draw them.  PyTorch uses its own threads
    (``torch.set_num_threads``), whatever `n_jobs` is.

    Parameters
    ----------
    module : torch.nn.Module
        Turns (n_documents, n_features) float32 into (n_documents,) or (n_documents, 1)
        scores.  Its parameters that require a gradient are trained, and must be
        float32; the others are left alone.  It is in training mode in a pass forward,
        in evaluation mode at prediction.  A ranker trains a copy of it.
    device : str or torch.device, default="cpu"
        Where the module computes: "cpu", "cuda", "cuda:1", ...  May be changed at any
        time; a fitted ranker that was pickled on a machine with a GPU can be used on
        one without after ``ranker.network_.device = "cpu"``.

    Raises
    ------
    TypeError
        If `module` is not a ``torch.nn.Module``.
    ValueError
        If none of its parameters requires a gradient, or one that does is not float32.

    Notes
    -----
    What is not a parameter lives in the module: buffers, such as the running means of
    ``BatchNorm``, follow the passes forward.  Early stopping, which keeps the best
    weights, leaves them as they are after the last epoch.
    """

    def __init__(self, module: Any, device: Any = "cpu") -> None:
        check_module(module)
        self.device = device
        self._module = module
        self._rest()

    def _rest(self) -> None:
        self._weights: list[Array] | None = None  # read from the module when first used
        self._scores: Any = None  # of the last pass forward, with its graph

    def __getstate__(self) -> dict[str, Any]:
        """Return the module, up to date and in main memory, and the device."""
        module = self.module
        if any(t.device.type != "cpu" for t in _tensors(module)):
            module = deepcopy(module).cpu()
        return {"_module": module, "device": self.device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the module and the device; the module goes there when it is used."""
        vars(self).update(state)
        self._rest()

    def __repr__(self) -> str:
        """Show how it was made."""
        return f"TorchNetwork({self._module!r}, device={str(self.device)!r})"

    @property
    def module(self) -> Any:
        """The module, with the present weights in it.

        Other weights are written into `parameters`, not into the module, where they
        would be overwritten before the next pass.
        """
        import torch

        if self._weights is not None:
            with torch.no_grad():
                for p, w in zip(_trainable(self._module), self._weights, strict=True):
                    p.copy_(torch.from_numpy(w))
        return self._module

    @property
    def parameters(self) -> list[Array]:
        """The weights of the parameters that are trained, to be changed in place."""
        if self._weights is None:
            self._weights = [_to_numpy(p) for p in _trainable(self._module)]
        return self._weights

    def forward(self, X: Array) -> NDArray[np.float64]:
        """Return the scores of a batch, (n_documents,), and remember their graph.

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
                "the scores of the module do not depend on its parameters: its forward "
                "must stay within torch (no detach, item or numpy on the way)"
            )
        self._scores = scores
        return _in_double(scores)

    def backward(self, score_gradient: NDArray[np.floating]) -> list[Array]:
        """Return dC/dw for each of `parameters`, given dC/ds at the last `forward`.

        A parameter that the scores do not depend on gets zeros.

        Raises
        ------
        RuntimeError
            Without a `forward` before it.
        """
        import torch

        if self._scores is None:
            raise RuntimeError("backward(score_gradient) needs a forward(X) before it")
        scores, self._scores = self._scores, None
        slopes = torch.autograd.grad(
            scores,
            _trainable(self._module),
            torch.tensor(score_gradient, dtype=scores.dtype, device=scores.device),
            allow_unused=True,
        )
        return [
            np.zeros_like(w) if slope is None else _to_numpy(slope)
            for w, slope in zip(self.parameters, slopes, strict=True)
        ]

    def predict(self, X: Array) -> NDArray[np.float64]:
        """Return scores, (n_documents,), in evaluation mode, some rows at a time.

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
            for start in range(0, len(X), BLOCK):
                rows = slice(start, start + BLOCK)
                scores[rows] = _in_double(_scores_of(module, X[rows], self.device))
        return scores

    def _ready(self) -> Any:
        """Return the module where it computes, with the present weights."""
        self._module.to(self.device)
        return self.module


def check_module(module: Any) -> None:
    """Raise a TypeError or ValueError unless a module can be trained."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {module!r}")
    if not _trainable(module):
        raise ValueError(
            "module has no parameter that requires a gradient: nothing to train"
        )
    for name, p in module.named_parameters():
        if p.requires_grad and p.dtype != torch.float32:
            raise ValueError(
                f"the parameter {name!r} of the module is {p.dtype}, and float32 is "
                "needed: call module.float()"
            )


def _trainable(module: Any) -> list[Any]:
    return [p for p in module.parameters() if p.requires_grad]


def _tensors(module: Any) -> list[Any]:
    return [*module.parameters(), *module.buffers()]


def _to_numpy(tensor: Any) -> Array:
    """Return a copy, whole and in rows, in main memory."""
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float32, order="C")


def _in_double(scores: Any) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = scores.detach().cpu().double().numpy()
    return numbers


def _scores_of(module: Any, X: Array, device: Any) -> Any:
    """Return what the module makes of X, (n_documents,), on its device."""
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
            f"{n} rows; got shape {tuple(scores.shape)}"
        )
    return scores.reshape(n)
