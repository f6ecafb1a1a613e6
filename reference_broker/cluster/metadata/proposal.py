"""A proposal: changes of the cluster's metadata that somebody wants to be made together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reference_broker.cluster.coordinator import (
    CHANGES_MAX,
    TRANSACTION_BYTES_MAX,
    Compare,
    Delete,
    Event,
    InDoubt,
    Lost,
    Put,
    Refused,
    Row,
    Won,
)
from reference_broker.core.base.deadlines import Deadline
from reference_broker.errors import Corrupt

PROPOSAL_CHANGES_MAX = CHANGES_MAX - 1
"""Changes of one proposal, and compares: its transaction has one more of either, which numbers
it."""

PROPOSAL_BYTES_MAX = TRANSACTION_BYTES_MAX - 1024
"""Octets of the keys and values of one proposal; the rest is for what numbers its transaction."""


class SeenProposal(NamedTuple):
    """A value of ``proposals/<node>``: the number of the node's transaction in its run. Among all
    that the key ever has they rise: its runs begin anew when it was ``created`` anew."""

    created: int
    run: int
    number: int


def seen_proposal(row: Row | Event) -> SeenProposal:
    """The proposal in ``row``, which has a value. Raises :exc:`Corrupt`."""
    try:
        run, number = (row.value or b"").decode().split()
        return SeenProposal(row.created, int(run), int(number))
    except ValueError:
        raise Corrupt(
            f"the value of {row.key!r} is no number of a proposal: {row.value!r}"
        ) from None


Answered = Won | Lost | Refused | InDoubt


@dataclass(slots=True)
class Proposal:
    """Compares, changes and an answer, keys without the cluster's prefix. ``answer`` is called
    once: with :class:`Won`; with :class:`Lost`, for a compare that did not hold; with
    :class:`Refused`, where it was not carried out in time and never will be; or with
    :class:`InDoubt`."""

    compares: Sequence[Compare]
    changes: Sequence[Put | Delete]
    answer: Callable[[Answered], None] | None
    deadline: Deadline | None = None
    octets: int = field(init=False)

    def __post_init__(self) -> None:
        self.octets = sum(len(each.key.encode()) for each in self.compares)
        for change in self.changes:
            value = change.value if isinstance(change, Put) else b""
            self.octets += len(change.key.encode()) + len(value)
        assert len(self.changes) <= PROPOSAL_CHANGES_MAX
        assert len(self.compares) <= PROPOSAL_CHANGES_MAX

    @property
    def is_open(self) -> bool:
        """Whoever proposed it has not been answered."""
        return self.answer is not None

    def end(self, answered: Answered) -> None:
        """Answer it; an answer that comes later than another does nothing."""
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
        answer, self.answer = self.answer, None
        if answer is not None:
            answer(answered)


class Batch:
    """Proposals for one transaction, of which no two change one key, or compare one at different
    revisions, and none compares what another one changes."""

    __slots__ = ("_changed", "_compared", "_octets", "proposals")

    def __init__(self) -> None:
        self.proposals: list[Proposal] = []
        self._compared: dict[str, Compare] = {}
        self._changed: dict[str, Put | Delete] = {}
        self._octets = 0

    @property
    def compares(self) -> tuple[Compare, ...]:
        """The compares of all, equal ones once."""
        return tuple(self._compared.values())

    @property
    def changes(self) -> tuple[Put | Delete, ...]:
        """The changes of all, in their order."""
        return tuple(self._changed.values())

    def take(self, proposal: Proposal) -> bool:
        """Add the proposal; false, and nothing is added, where it does not fit."""
        if self.proposals and not self._fits(proposal):
            return False
        self.proposals.append(proposal)
        self._compared.update({each.key: each for each in proposal.compares})
        self._changed.update({each.key: each for each in proposal.changes})
        self._octets += proposal.octets
        return True

    def _fits(self, proposal: Proposal) -> bool:
        changed, compared = self._changed, self._compared
        if self._octets + proposal.octets > PROPOSAL_BYTES_MAX:
            return False
        if len(changed) + len(proposal.changes) > PROPOSAL_CHANGES_MAX:
            return False
        if len(compared) + len(proposal.compares) > PROPOSAL_CHANGES_MAX:
            return False
        if any(change.key in changed or change.key in compared for change in proposal.changes):
            return False
        return not any(
            each.key in changed or compared.get(each.key, each) != each
            for each in proposal.compares
        )
