"""Leftovers: definitions in etcd of what is gone, since something that they speak of is gone.

Who deletes a queue with a hundred thousand bindings deletes one key. Its bindings are nobody's from
then on, on every node, whoever declares the name again; their keys are removed in portions, by the
first of the nodes that are there, in the order of their names. An auto-delete exchange that has
lost its last binding that way goes with them; and so do the exclusive and transient queues of a
node, when it is there no more, or in another run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from reference_broker.cluster.coordinator import Compare, Delete, Lost, Won
from reference_broker.cluster.metadata.keys import DEFINITIONS
from reference_broker.cluster.pause import Timer

if TYPE_CHECKING:
    from reference_broker.cluster.metadata.proposal import Answered
    from reference_broker.cluster.metadata.proposals import Proposals
    from reference_broker.cluster.metadata.view import View

PORTION = 64
"""Keys of one proposal."""

SWEEP_S = 1.0
"""Seconds between a leftover and its removal, and between two portions that did not succeed."""


class _Leftover(NamedTuple):
    """``revision`` is the key's, and ``guard`` a key that must stay as it is, too."""

    revision: int
    guard: Compare | None


class Leftovers:
    """Keys of definitions, each with the revision at which it is one: written again, it is none.
    ``sweeps`` says, when it is asked, that this node removes them; ``after`` is the broker's timer.
    """

    def __init__(
        self, view: View, proposals: Proposals, after: Timer, sweeps: Callable[[], bool]
    ) -> None:
        self._view = view
        self._proposals = proposals
        self._after = after
        self._sweeps = sweeps
        self._left: dict[str, _Leftover] = {}
        self._is_awaited = False

    def __len__(self) -> int:
        """The number of keys that were left over, and may still be."""
        return len(self._left)

    def add(self, key: str, guard: str | None = None) -> None:
        """The definition ``key``, as the view has it, is nobody's, as long as the key ``guard`` is
        not written either. Idempotent."""
        revision = self._view.revision_of(DEFINITIONS + key)
        if revision:
            kept = None if guard is None else Compare(guard, self._view.revision_of(guard))
            self._left[key] = _Leftover(revision, kept)
            self._await(SWEEP_S)

    def _await(self, delay_s: float) -> None:
        if not self._is_awaited and self._left:
            self._is_awaited = True
            self._after(delay_s, self._sweep)

    def _sweep(self) -> None:
        """Remove a portion, or look again later; another node may be doing it."""
        self._is_awaited = False
        for key in list(islice(self._left, PORTION)):
            if not self._is_left(key):
                del self._left[key]
        portion = list(islice(self._left, PORTION))
        if not portion or not self._sweeps():
            self._await(SWEEP_S)
            return
        self._is_awaited = True
        compares = {key: Compare(DEFINITIONS + key, self._left[key].revision) for key in portion}
        guards = (self._left[key].guard for key in portion)
        compares.update({guard.key: guard for guard in guards if guard is not None})
        self._proposals.propose(
            tuple(compares.values()),
            [Delete(DEFINITIONS + key) for key in portion],
            partial(self._swept, portion),
        )

    def _is_left(self, key: str) -> bool:
        left, revision_of = self._left[key], self._view.revision_of
        if revision_of(DEFINITIONS + key) != left.revision:
            return False
        return left.guard is None or revision_of(left.guard.key) == left.guard.revision

    def _swept(self, portion: list[str], answered: Answered) -> None:
        self._is_awaited = False
        if isinstance(answered, Won):
            for key in portion:
                self._left.pop(key, None)
        self._await(0 if isinstance(answered, Won | Lost) else SWEEP_S)
