"""The loop that grows a tree, whatever its policy and the number of workers.

A pass of the loop, a step, begins with the leaves that the step before made (at first
the root), and takes four sub-kernels, :class:`GrowthSteps`.  All threads of the team
run the loop, each for itself, and meet at barriers.

A kernel cannot exchange anything with other workers.  So the loop returns wherever sums
of histograms over all workers are needed, and is called again when they are known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, TypeAlias

from sklearn_ltr._core.compile import SharedKernel, shared_kernel, wait_at_barrier
from sklearn_ltr._core.trees.growth.dividing import fill_root
from sklearn_ltr._core.trees.growth.sparse_columns import take_own_keys
from sklearn_ltr._core.trees.growth.workspace import (
    NO_LEAF,
    GrowingTree,
    GrowthParameters,
    GrowthWorkspace,
    LevelWorkspace,
    new_histogram,
    workspace_of_thread,
)

# A sub-kernel of the tree and of the workspace as one thread sees it
Step: TypeAlias = Callable[[GrowingTree, GrowthWorkspace], None]
Decision: TypeAlias = Callable[[GrowingTree, GrowthWorkspace], bool]


class GrowthSteps(NamedTuple):
    """What is done in each step of the loop."""

    # return whether sums of histograms over all workers are needed; if they are, make
    # the histograms of this worker's rows; None if they never are
    needs_sums: Decision | None
    # find this thread's candidates for the best splits of the new leaves
    search: Step
    # choose the best of all threads' candidates
    select: Step
    # divide rows, and make new leaves; return False if no split has a gain
    split: Decision


def growth_kernel(name: str, steps: GrowthSteps) -> SharedKernel:
    """Return the kernel that grows trees by these steps, stored by this name."""
    # The steps are constants of the kernel, so they are compiled into it.
    needs_sums, search, select, split = steps

    def grow_tree(
        thread: int, n_threads: int, tree: GrowingTree, workspace: GrowthWorkspace
    ) -> None:
        """Split leaves until the tree is grown, or sums of histograms are needed."""
        # The table of leaves is this thread's own, with the same content in all
        # threads.  The nodes are shared: thread 0 writes them.
        work = workspace_of_thread(thread, n_threads, workspace)
        barrier, progress = work.team.barrier, work.progress[0]
        if progress.n_leaves == 0:
            root = work.leaves[0]
            fill_root(tree.n_rows, tree.total, root, work.buffers, work.team)
            take_own_keys(tree, work, work.sparse)
            if not tree.exchanges:
                root.histogram_index = new_histogram(progress)
            progress.n_leaves, progress.smaller, progress.larger = 1, 0, NO_LEAF
            wait_at_barrier(barrier, n_threads)
        while progress.n_steps < tree.most_steps:
            if needs_sums is not None and needs_sums(tree, work):
                return
            search(tree, work)
            wait_at_barrier(barrier, n_threads)
            select(tree, work)
            if not split(tree, work):
                break
            progress.n_steps += 1
            wait_at_barrier(barrier, n_threads)
        progress.is_grown = True

    grow_tree.__name__ = grow_tree.__qualname__ = name
    return shared_kernel(grow_tree)


class GrowthPolicy(ABC):
    """A way to grow trees: the kernel of its steps, and all that follows from them.

    Attributes
    ----------
    name : str
        The value of the parameter `grow_policy`.
    kernel, kernel_together : SharedKernel
        Grow a tree: of a process that has all rows, and of one of several workers.
    ridge : float
        So many rows of the mean hessian are added to `l2_regularization`.
    """

    name: ClassVar[str]
    kernel: ClassVar[SharedKernel]
    kernel_together: ClassVar[SharedKernel]
    ridge: ClassVar[float] = 0.0

    @abstractmethod
    def limits(self, max_leaf_nodes: int, max_depth: int) -> tuple[int, int]:
        """Return the most leaves and levels of a tree, given the parameters."""

    @abstractmethod
    def most_steps(self, parameters: GrowthParameters) -> int:
        """Return how many steps the loop takes at most."""

    @abstractmethod
    def n_histograms(self, parameters: GrowthParameters, exchanges: bool) -> int:
        """Return how many leaves have a histogram at most."""

    @abstractmethod
    def most_exchanged(self, parameters: GrowthParameters) -> int:
        """Return of how many histograms workers exchange the sums at once."""

    def new_levels(
        self, parameters: GrowthParameters, n_blocks: int, n_threads: int
    ) -> LevelWorkspace | None:
        """Return the memory for levels, None if leaves are split one by one."""
        return None

    @abstractmethod
    def growth_time(
        self, parameters: GrowthParameters, n_blocks: int, n_rows: float, n_threads: int
    ) -> float:
        """Return twice the nanoseconds that threads save, as `share` takes them."""
