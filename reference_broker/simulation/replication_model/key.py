"""The key in etcd, the proposals that are on their way to it, and the answers from it."""

from __future__ import annotations

from enum import Enum, auto
from random import Random
from typing import NamedTuple


class Copy(NamedTuple):
    """A replica's copy of the queue: a node, and a number that rises when it starts from
    nothing."""

    node: int
    number: int


class KeyValue(NamedTuple):
    """The key at a revision. ``in_sync`` is in order."""

    revision: int
    epoch: int
    leader: Copy
    in_sync: tuple[Copy, ...]


class Kind(Enum):
    """The kinds of proposals."""

    ELECTION = auto()
    STANDING_DOWN = auto()
    """Writes what is there, so that the election it is compared with can't win any more."""
    MEMBERSHIP = auto()


class Proposal(NamedTuple):
    """A compare and put that a process has sent. ``epoch``, ``leader`` and ``in_sync`` are what it
    writes. ``life`` is the process: one that was started again gets no answers of the one before.
    """

    node: int
    life: int
    kind: Kind
    compared: int
    epoch: int
    leader: Copy
    in_sync: tuple[Copy, ...]


class Answer(NamedTuple):
    """The outcome of a proposal, and the key as it was then."""

    proposal: Proposal
    won: bool
    value: KeyValue


class Key:
    """Every value that the key has had. Proposals are carried out in any order, and sooner or
    later; their answers arrive in any order, if they do."""

    def __init__(self, first: KeyValue, random: Random) -> None:
        self.history = [first]
        self.proposals: list[Proposal] = []
        self.answers: list[Answer] = []
        self._random = random

    @property
    def value(self) -> KeyValue:
        """The key as it is."""
        return self.history[-1]

    def carry_out_one(self, *, compares: bool = True) -> Copy | None:
        """Carry out any proposal. One that ``compares`` is lost where the key has changed. Returns
        the copy that a leader has taken into the set by it."""
        if not self.proposals:
            return None
        proposal = self._random.choice(self.proposals)
        self.proposals.remove(proposal)
        now = self.value
        won = proposal.compared == now.revision
        epoch = proposal.epoch
        if proposal.kind is Kind.ELECTION and not compares:
            won, epoch = True, max(epoch, now.epoch + 1)
        if won and proposal.kind is Kind.STANDING_DOWN:
            self.history.append(now._replace(revision=now.revision + 1))
        elif won:
            value = KeyValue(now.revision + 1, epoch, proposal.leader, proposal.in_sync)
            self.history.append(value)
        self.answers.append(Answer(proposal, won, self.value))
        newcomers = [copy for copy in self.value.in_sync if copy not in now.in_sync]
        return newcomers[0] if newcomers and proposal.kind is Kind.MEMBERSHIP else None

    def lose_last_answer(self) -> None:
        """The answer to what was just carried out never arrives."""
        del self.answers[-1]

    def take_answer(self) -> Answer | None:
        """Any answer that is on its way, which arrives or gets lost now."""
        if not self.answers:
            return None
        return self.answers.pop(self._random.randrange(len(self.answers)))

    def next_after(self, revision: int) -> KeyValue | None:
        """The value that a watch tells next to whom has seen ``revision``."""
        return self.history[revision] if revision < len(self.history) else None

    def election_won(self, epoch: int, leader: Copy) -> KeyValue | None:
        """The value in which ``leader`` became that in ``epoch``, if it did."""
        return next((v for v in self.history if (v.epoch, v.leader) == (epoch, leader)), None)
