"""One replica: its log, its part in an epoch, and the rules by which it follows and leads."""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from typing import NamedTuple

from reference_broker.simulation.replication_model.key import Copy, KeyValue, Proposal
from reference_broker.simulation.replication_model.ledger import Ledger, Op, Violation
from reference_broker.simulation.replication_model.links import Ack, Append
from reference_broker.simulation.replication_model.rules import BrokenRule


class State(Enum):
    """The part that a replica has."""

    FOLLOWING = auto()
    CANDIDATE = auto()
    LEADING = auto()


class Standing(NamedTuple):
    """An election that a candidate has proposed: the revision it compared with, and its epoch."""

    compared: int
    epoch: int


class Replica:
    """A node's copy of the queue. ``durable``, ``committed`` and acks are counts of operations from
    the beginning of the log."""

    def __init__(
        self,
        node: int,
        floor: int,
        ledger: Ledger,
        counts: Counter[str],
        broken: BrokenRule | None,
        *,
        candidates_ack: bool,
    ) -> None:
        self.node = node
        self.up = True
        self.life = 0
        self.log: list[Op] = []
        self.durable = 0
        self.committed = 0
        self.copy = Copy(node, 0)
        self._floor = floor
        self._ledger = ledger
        self._counts = counts
        self._broken = broken
        self._candidates_ack = candidates_ack
        self._cut: dict[Op, None] = {}
        self._forget()

    def _forget(self) -> None:
        """Lose what is in memory only."""
        self.state = State.FOLLOWING
        self.epoch = 0
        self.view: KeyValue | None = None
        self.standing: Standing | None = None
        self.acks: dict[Copy, int] = {}
        self.pending: list[Proposal] = []
        """Membership that the leader has proposed, with an outcome that it doesn't know."""
        self._in_sync: tuple[Copy, ...] = ()
        self._owed: tuple[int, int] | None = None
        """The leader and the epoch of an ack that waits for the sync."""

    # --- The key ---

    def learn(self, value: KeyValue) -> None:
        """See the key as ``value``, which may be older than what was seen."""
        if self.view is not None and value.revision <= self.view.revision:
            return
        self.view = value
        if self._elected(value):
            self._lead(value)
        elif value.epoch > self.epoch:
            self._follow(value.epoch)
            if self._broken is BrokenRule.CUT_BY_MARK:
                del self.log[self.committed :]
                self.durable = min(self.durable, self.committed)
        if self.state is State.LEADING and value.epoch == self.epoch:
            self._in_sync = value.in_sync
            # One that compares with an older revision has won already, or never will.
            self.pending = [each for each in self.pending if each.compared >= value.revision]
            self._advance()

    def _elected(self, value: KeyValue) -> bool:
        """True if ``value`` makes this candidate the leader. It may have stood with an old view,
        and have followed a later leader meanwhile, whose epoch it must not fall behind."""
        if self.standing is None or (value.epoch, value.leader) != (self.standing.epoch, self.copy):
            return False
        return value.epoch >= self.epoch or self._broken is BrokenRule.OLD_ELECTION

    def stand(self, standing: Standing) -> None:
        """Become a candidate."""
        self.state = State.CANDIDATE
        self.standing = standing
        if not self._candidates_ack:
            self._owed = None

    def stand_down(self) -> None:
        """Be no candidate any more."""
        self.state = State.FOLLOWING
        self.standing = None

    def _follow(self, epoch: int) -> None:
        self.stand_down()
        self.epoch = epoch
        self.pending = []
        self._owed = None

    def _lead(self, value: KeyValue) -> None:
        self._counts["elections"] += 1
        self.state = State.LEADING
        self.standing = None
        self.epoch = value.epoch
        self.pending = []
        self._owed = None
        self._ledger.elected(self.epoch, self.copy, self.log)
        self.acks = {self.copy: self.durable}
        self.log.append(Op(self.epoch, 0))

    # --- Leading ---

    def propose(self, proposal: Proposal) -> None:
        """Count a change of the in-sync set as one that may be so from now on."""
        self.pending.append(proposal)

    def forget_proposals(self, revision: int) -> None:
        """Take proposals that compare with ``revision`` for lost: a broken rule."""
        self.pending = [each for each in self.pending if each.compared != revision]
        self._advance()

    def acked(self, ack: Ack) -> None:
        """A copy has so many operations on its disk."""
        if self.state is State.LEADING and ack.epoch == self.epoch:
            self.acks[ack.copy] = max(ack.durable, self.acks.get(ack.copy, 0))
            self._advance()

    def _effective(self) -> tuple[Copy, ...]:
        """The in-sync set as it may be: the one that is known, and all that is proposed."""
        effective = dict.fromkeys(self._in_sync)
        for proposal in self.pending:
            shrinks = len(proposal.in_sync) < len(self._in_sync)
            if self._broken is BrokenRule.SHRINK_WHEN_PROPOSED and shrinks:
                effective = dict.fromkeys(proposal.in_sync)
            elif self._broken is not BrokenRule.GROW_WHEN_ANSWERED or shrinks:
                effective |= dict.fromkeys(proposal.in_sync)
        return (self.copy,) if self._broken is BrokenRule.COMMIT_ALONE else tuple(effective)

    def _advance(self) -> None:
        """Commit what is durable at all that are in sync, if it reaches into the own epoch."""
        if len(self._in_sync) < self._floor and self._broken is not BrokenRule.COMMIT_ALONE:
            return
        count = min(self.acks.get(copy, 0) for copy in self._effective())
        if not self.committed < count <= len(self.log) or self.log[count - 1].epoch != self.epoch:
            return
        self._ledger.commit(self.log, count)
        self.committed = count
        self._counts["commits"] += 1

    # --- Following ---

    def append(self, source: int, message: Append) -> Ack | None:
        """Take a leader's log. Returns an ack, if there is one already, which breaks a rule."""
        if message.epoch < self.epoch:
            return None
        if message.epoch == self.epoch:
            frozen = self.state is State.CANDIDATE and not self._candidates_ack
            if self.state is State.LEADING or frozen:
                return None
        else:
            self._follow(message.epoch)
        self._align(message.log)
        self.committed = max(self.committed, min(message.committed, len(self.log)))
        self._owed = (source, message.epoch)
        if self._broken is BrokenRule.ACK_FIRST:
            return Ack(message.epoch, len(self.log), self.copy)
        return None

    def _align(self, log: list[Op]) -> None:
        """Cut what the leader doesn't have, and take what is missing."""
        common = _common(self.log, log)
        if common == len(log):
            return  # an older message of the same leader: nothing is cut
        if common < len(self.log):
            if common < self.committed:
                raise Violation("a follower cuts below its own commit mark")
            self._cut |= dict.fromkeys(op for op in self.log[common:] if op.number)
            del self.log[common:]
            self.durable = min(self.durable, common)
            self._counts["cuts"] += 1
        self._counts["cut operations that came again"] += sum(
            op in self._cut for op in log[common:]
        )
        self.log += log[common:]

    def sync(self) -> tuple[int, Ack] | None:
        """Have the whole log on the disk. Returns an ack, and the leader that it goes to."""
        self.durable = len(self.log)
        if self.state is State.LEADING:
            self.acks[self.copy] = self.durable
            self._advance()
            return None
        owed, may = self._owed, self.state is State.FOLLOWING or self._candidates_ack
        if owed is None or not may or self._broken is BrokenRule.ACK_FIRST:
            return None
        self._owed = None
        leader, epoch = owed
        return (leader, Ack(epoch, self.durable, self.copy)) if epoch == self.epoch else None

    # --- Falling and getting up ---

    def stop(self, kept: int) -> None:
        """Be down; only ``kept`` operations are found again, all that were durable among them."""
        self._counts["stops"] += 1
        self.up = False
        self.life += 1
        del self.log[kept:]
        self.durable = len(self.log)

    def start(self, value: KeyValue) -> None:
        """Be up again, and see the key as ``value``: as a follower, whoever leads."""
        committed = min(self.committed, len(self.log))
        self._forget()
        self.up = True
        self.committed = committed
        self.learn(value)
        self.epoch = value.epoch

    def start_from_nothing(self, *, keeps_number: bool) -> None:
        """Have an empty copy, which is another one unless that rule is broken."""
        self.log = []
        self.durable = self.committed = 0
        self._owed = None
        if not keeps_number:
            self.copy = Copy(self.node, self.copy.number + 1)


def _common(ours: list[Op], theirs: list[Op]) -> int:
    """Operations from the beginning that both logs have."""
    shorter = min(len(ours), len(theirs))
    if ours[:shorter] == theirs[:shorter]:
        return shorter
    return next(place for place in range(shorter) if ours[place] != theirs[place])
