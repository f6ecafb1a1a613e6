"""An operation of a client: to declare or delete a definition, or to rename one, at some node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from reference_broker.cluster.coordinator import (
    Compare,
    Delete,
    InDoubt,
    Lost,
    Put,
    Refused,
    Won,
)
from reference_broker.cluster.metadata.proposal import Answered
from reference_broker.simulation.cluster.laws import LawBroken

if TYPE_CHECKING:
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

TRIES_MAX = 10
"""Times that an operation is proposed which loses again and again."""

LOG = "def/parameter/log of "
"""Every transaction writes the value of its try under such a key, so that it can be found."""


class Kind(Enum):
    """The kinds of operations."""

    DECLARE = "declare"
    DELETE = "delete"
    RENAME = "rename"


@dataclass(slots=True)
class Try:
    """One proposal. Its ``value`` is in no other one."""

    value: bytes
    compares: tuple[Compare, ...]
    answered: Answered | None = None

    def hold_against(self, revisions: list[int]) -> None:
        """Hold the answer against the revisions at which the value was written. Raises
        :exc:`LawBroken`."""
        what = f"{self.value!r} was answered {self.answered}, and is in etcd at {revisions}"
        if len(dict.fromkeys(revisions)) > 1:
            raise LawBroken(f"carried out twice: {what}")
        if isinstance(self.answered, Won) and revisions[:1] != [self.answered.revision]:
            raise LawBroken(f"not carried out as told: {what}")
        if isinstance(self.answered, Lost | Refused) and revisions:
            raise LawBroken(f"carried out, and denied: {what}")


class Operation:
    """One operation at ``process``. ``ended`` is called with how it ended, once."""

    def __init__(
        self,
        world: ClusterWorld,
        process: NodeProcess,
        kind: Kind,
        keys: tuple[str, str],
        number: int,
        ended: Callable[[str], None],
    ) -> None:
        self.process = process
        self.tries: list[Try] = []
        self._world = world
        self._kind = kind
        self._key, self._other = keys
        self._number = number
        self._ended = ended

    def attempt(self) -> None:
        """Check against the node's view, as a client's method is, and propose."""
        values = self.process.copy.values
        is_there = self._key in values
        if is_there is (self._kind is Kind.DECLARE):
            # Somebody else's, that may not have reached every node.
            self._await(self.process.node.view.revision.value, "nothing to do")
            return
        if self._kind is Kind.RENAME and self._other in values:
            self._ended("refused by the view")
            return
        view = self.process.node.view
        keys = (self._key, self._other) if self._kind is Kind.RENAME else (self._key,)
        compares = tuple(Compare(key, view.revision_of(key)) for key in keys)
        tried = Try(b"%d.%d" % (self._number, len(self.tries)), compares)
        self.tries.append(tried)
        changes: list[Put | Delete] = [Put(f"{LOG}{self._number % 40}", tried.value)]
        if self._kind is Kind.DECLARE:
            changes.append(Put(self._key, tried.value))
        else:
            changes.append(Delete(self._key))
        if self._kind is Kind.RENAME:
            changes.append(Put(self._other, tried.value))
        self.process.node.proposals.propose(compares, changes, partial(self._answered, tried))

    def _answered(self, tried: Try, answered: Answered) -> None:
        assert tried.answered is None, "a proposal was answered twice"
        tried.answered = answered
        if isinstance(answered, Won):
            self._await(answered.revision, "carried out")
        elif isinstance(answered, Lost):
            if len(self.tries) < TRIES_MAX:
                self.attempt()
            else:
                self._ended("lost too often")
        else:
            self._ended("in doubt" if isinstance(answered, InDoubt) else "refused")

    def _await(self, revision: int, how: str) -> None:
        """Say -ok when every live node has seen ``revision``."""
        barrier = self.process.node.barrier
        ticket = barrier.ticket(revision)
        if barrier.passed.value >= ticket:
            self._agreed(revision, how)
        else:
            barrier.passed.when_at(ticket, partial(self._agreed, revision, how))

    def _agreed(self, revision: int, how: str) -> None:
        self._world.laws.agreed(self.process, revision)
        self._ended(how)
