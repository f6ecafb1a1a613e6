"""Bringing definitions into a cluster: before the node serves anybody, in portions.

Whoever finds that the cluster was never set up sets it up: with what its folder has, or with what a
broker begins with. The definition that says so comes last, so another node goes on where one has
ended in the middle; and until it is there, nothing is defined but under the compare that it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Protocol

from reference_broker.cluster.coordinator import CHANGES_MAX, Compare
from reference_broker.cluster.definitions.brought import SET_UP_KEY
from reference_broker.cluster.metadata.keys import DEFINITIONS, rank_of
from reference_broker.cluster.metadata.proposal import PROPOSAL_BYTES_MAX
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.pause import Timer
from reference_broker.core.access import access_definition
from reference_broker.core.journal.definition_store import Change
from reference_broker.core.work.task import Steps
from reference_broker.core.work.until import Agreement, Until

COMPARES_MAX = CHANGES_MAX - 2
"""Of a portion: one more numbers its transaction, and one may be about the set-up."""

RETRY_S = 1.0
"""Seconds until etcd is asked again for what it has refused."""

PORTION_BYTES_MAX = PROPOSAL_BYTES_MAX // 2
"""Of a portion's values; there are keys, and what they speak of, besides."""


class Asking(Protocol):
    """Who asks the other nodes (:class:`~.shared_definitions.SharedDefinitions`)."""

    def ask(self, changes: Iterable[Change], held: Iterable[Compare] = ()) -> Agreement:
        """Have the other nodes asked for ``changes``."""
        ...


class Bringing:
    """Brings definitions into the cluster of ``view``. ``goes_on`` is false when the node has
    ended; ``after`` is the broker's timer; ``report`` is told, in a line, while nobody can be
    asked."""

    def __init__(
        self,
        view: View,
        shared: Asking,
        goes_on: Callable[[], bool],
        after: Timer,
        report: Callable[[str], None],
    ) -> None:
        self._view = view
        self._shared = shared
        self._goes_on = goes_on
        self._after = after
        self._report = report

    @property
    def is_set_up(self) -> bool:
        """The cluster was set up, by this node or another one."""
        return self._is_there(SET_UP_KEY)

    def set_up(self, changes: Sequence[Change]) -> Steps:
        """The steps of setting the cluster up with ``changes``, which are in the order of
        :func:`~.brought.changes_of`. Look at :attr:`is_set_up` before: where another node is
        quicker, some of them may be missing in the end."""
        held = (Compare(DEFINITIONS + SET_UP_KEY, 0),)
        yield from self._bring(changes, held)
        last = Change(SET_UP_KEY, access_definition.encode_set_up())
        while self._goes_on() and not self.is_set_up:
            yield from self._asked((last,), ())

    def add(self, changes: Sequence[Change]) -> Steps:
        """The steps of adding ``changes`` to a cluster that is set up; what is there stays."""
        yield from self._bring(changes, ())

    def _bring(self, changes: Sequence[Change], held: tuple[Compare, ...]) -> Steps:
        # One kind after another: what a definition speaks of has to be there.
        for _, of_kind in groupby(changes, key=lambda change: rank_of(DEFINITIONS + change.key)):
            left = list(of_kind)
            while left and self._goes_on() and not (held and self.is_set_up):
                left = [change for change in left if not self._is_there(change.key)]
                portion = _portion(left)
                if portion:
                    yield from self._asked(portion, held)

    def _asked(self, changes: Sequence[Change], held: tuple[Compare, ...]) -> Steps:
        agreement = self._shared.ask(changes, held)
        yield agreement
        if agreement.failure is not None and self._goes_on():
            self._report(f"waiting for etcd: {agreement.failure.text}")
            pause = Until()
            self._after(RETRY_S, pause.happened)
            yield pause

    def _is_there(self, key: str) -> bool:
        return self._view.revision_of(DEFINITIONS + key) > 0


def _portion(changes: Sequence[Change]) -> Sequence[Change]:
    """The first of the changes, as many as one transaction takes."""
    compared: set[str] = set()
    size = 0
    for count, change in enumerate(changes):
        compared |= {change.key, *change.speaks_of}
        size += len(change.value or b"")
        if count and (len(compared) > COMPARES_MAX or size > PORTION_BYTES_MAX):
            return changes[:count]
    return changes
