"""The model: replicas, links and the key, and one random step after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from reference_broker.simulation.replication_model.key import (
    Answer,
    Copy,
    Key,
    KeyValue,
    Kind,
    Proposal,
)
from reference_broker.simulation.replication_model.ledger import Ledger, Op
from reference_broker.simulation.replication_model.links import Append, Links
from reference_broker.simulation.replication_model.profile import MIXED, Profile, Step
from reference_broker.simulation.replication_model.replica import Replica, Standing, State
from reference_broker.simulation.replication_model.rules import BrokenRule

STEPS = 4_000
NODES = (3, 3, 3, 5)
LOG_MAX = 400

_START_CHANCE = 0.3
_SEND_CHANCE = 0.7
_STANDS_AGAIN_CHANCE = 0.5
"""Of steps in which the copy stands that leads by its view: its process was started again."""
_OUT_CHANCE = 0.6
_POWER_LOSS_CHANCE = 0.6


class ReplicationModel:
    """One run of a seed. :meth:`run` raises :class:`~.ledger.Violation` where a law is broken;
    ``counts`` says what has happened.

    As designed, a candidate goes on acking for the old leader; with ``candidates_ack`` false it
    does not, and is as safe.
    """

    def __init__(
        self,
        seed: int,
        broken: BrokenRule | None = None,
        profile: Profile = MIXED,
        *,
        candidates_ack: bool = True,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.ledger = Ledger()
        self._random = Random(seed)
        self._broken = broken
        self._profile = profile
        nodes = self._random.choice(NODES)
        self._floor = nodes // 2 + 1
        copies = tuple(Copy(node, 0) for node in range(nodes))
        self._key = Key(KeyValue(1, 1, copies[0], copies), self._random)
        self._links = Links(nodes, self._random)
        self._ops = 0
        self._replicas = [
            Replica(
                node, self._floor, self.ledger, self.counts, broken, candidates_ack=candidates_ack
            )
            for node in range(nodes)
        ]
        self._replicas[0].stand(Standing(0, 1))
        for replica in self._replicas:
            replica.learn(self._key.value)
        self._steps: dict[Step, Callable[[Replica], None]] = {
            Step.APPEND: self._append,
            Step.SEND: self._send,
            Step.DELIVER: self._deliver,
            Step.SYNC: self._sync,
            Step.LEARN: self._learn,
            Step.CARRY_OUT: self._carry_out,
            Step.ANSWER: self._answer,
            Step.LOSE_ANSWER: lambda replica: self._lose_answer(),
            Step.STAND: self._stand,
            Step.CHANGE_MEMBERS: self._change_members,
            Step.RESOLVE: self._resolve,
            Step.RESET_LINK: lambda replica: self._links.reset_one(),
            Step.STOP: self._stop,
            Step.LOSE_DISK: self._lose_disk,
            Step.DROP_COPY: self._drop_copy,
            Step.NOTHING: lambda replica: None,
        }

    def run(self, steps: int = STEPS) -> None:
        """Take ``steps`` steps, and hold every member of the in-sync set against the ledger."""
        weights = self._profile.weights
        drawn = [self._steps[step] for step in weights]
        acts = self._random.choices(drawn, list(weights.values()), k=steps)
        for act, replica in zip(acts, self._random.choices(self._replicas, k=steps), strict=True):
            if replica.up:
                act(replica)
            elif self._random.random() < _START_CHANCE:
                replica.start(self._key.value)
        for replica in self._replicas:
            if replica.copy in self._key.value.in_sync:
                self.ledger.stays(replica.log)
        self.counts["committed operations"] = len(self.ledger.committed)

    def _append(self, replica: Replica) -> None:
        if replica.state is State.LEADING and len(replica.log) < LOG_MAX:
            self._ops += 1
            replica.log.append(Op(replica.epoch, self._ops))

    def _send(self, replica: Replica) -> None:
        if replica.state is not State.LEADING:
            return
        message = Append(replica.epoch, list(replica.log), replica.committed)
        for other in self._replicas:
            if other is not replica and self._random.random() < _SEND_CHANCE:
                self._links.send(replica.node, other.node, message)

    def _deliver(self, replica: Replica) -> None:
        arrived = self._links.arrive(replica.node)
        if arrived is None:
            return
        source, message = arrived
        if isinstance(message, Append):
            ack = replica.append(source, message)
            if ack is not None:
                self._links.send(replica.node, source, ack)
        else:
            replica.acked(message)

    def _sync(self, replica: Replica) -> None:
        owed = replica.sync()
        if owed is not None:
            leader, ack = owed
            self._links.send(replica.node, leader, ack)

    def _learn(self, replica: Replica) -> None:
        assert replica.view is not None
        value = self._key.next_after(replica.view.revision)
        if value is not None:
            replica.learn(value)

    def _carry_out(self, _: Replica) -> None:
        compares = self._broken is not BrokenRule.NO_COMPARE
        newcomer = self._key.carry_out_one(compares=compares)
        if newcomer is not None and self._untimely():
            self._key.lose_last_answer()
            self._stand_alone(self._replicas[newcomer.node])

    def _untimely(self) -> bool:
        chance = self._profile.untimely
        return chance > 0 and self._random.random() < chance

    def _stand_alone(self, replica: Replica) -> None:
        """Stand with all that the key says, and without any link."""
        if replica.up:
            self._links.reset(replica.node)
            for value in self._key.history:
                replica.learn(value)
            self._stand(replica)

    def _answer(self, _: Replica) -> None:
        answer = self._key.take_answer()
        if answer is None:
            return
        replica = self._replicas[answer.proposal.node]
        if replica.up and replica.life == answer.proposal.life:
            if answer.proposal.kind is Kind.MEMBERSHIP:
                self._answer_leader(replica, answer)
            else:
                self._answer_candidate(replica, answer)

    def _lose_answer(self) -> None:
        if self._key.take_answer() is not None:
            self.counts["answers lost"] += 1

    def _answer_leader(self, replica: Replica, answer: Answer) -> None:
        leads = replica.state is State.LEADING and replica.epoch == answer.value.epoch
        if leads and answer.proposal in replica.pending:
            replica.learn(answer.value)

    def _answer_candidate(self, replica: Replica, answer: Answer) -> None:
        """The election was won or lost; or standing down was won, so that the election never will
        be; or lost, which may be since the election was won before."""
        proposal, standing = answer.proposal, replica.standing
        if replica.state is not State.CANDIDATE or standing is None:
            return
        if (proposal.compared, proposal.epoch) != standing:
            return
        stood_down = proposal.kind is Kind.STANDING_DOWN and answer.won
        won = None if stood_down else self._key.election_won(standing.epoch, replica.copy)
        if won is None:
            replica.stand_down()
        replica.learn(won or answer.value)

    def _stand(self, replica: Replica) -> None:
        view = replica.view
        if replica.state is not State.FOLLOWING or view is None:
            return
        inside = replica.copy in view.in_sync or self._broken is BrokenRule.OUTSIDER
        again = view.leader == replica.copy
        if not inside or (again and self._random.random() >= _STANDS_AGAIN_CHANCE):
            return
        members = list(view.in_sync)
        if replica.copy not in members:
            members.append(replica.copy)
        for member in view.in_sync:
            out = self._random.random() < _OUT_CHANCE
            if member != replica.copy and len(members) > self._floor and out:
                members.remove(member)
        replica.stand(Standing(view.revision, view.epoch + 1))
        self._propose(replica, Kind.ELECTION, view.revision, view.epoch + 1, members)

    def _change_members(self, replica: Replica) -> None:
        view = replica.view
        leads = replica.state is State.LEADING
        if not leads or view is None or view.epoch != replica.epoch or replica.pending:
            return
        members = list(view.in_sync)
        if self._random.random() < self._profile.grows:
            members += self._joining(replica, view)
        elif len(members) > self._floor:
            members.remove(self._random.choice([m for m in members if m != replica.copy]))
        if len(members) != len(view.in_sync):
            proposal = self._propose(
                replica, Kind.MEMBERSHIP, view.revision, replica.epoch, members
            )
            replica.propose(proposal)
            for leaving in view.in_sync:
                if leaving not in members and self._untimely():
                    self._stand_alone(self._replicas[leaving.node])

    def _joining(self, replica: Replica, view: KeyValue) -> list[Copy]:
        """Somebody who is not in the set, and has acked all that the leader has."""
        caught_up = [
            other.copy
            for other in self._replicas
            if other.copy not in view.in_sync
            and replica.acks.get(other.copy, 0) >= len(replica.log)
        ]
        return [self._random.choice(caught_up)] if caught_up else []

    def _resolve(self, replica: Replica) -> None:
        """Find out an outcome that was not known for long: by writing with the same compare."""
        view, standing = replica.view, replica.standing
        if view is None:
            return
        if self._broken is BrokenRule.BY_READING:
            self._resolve_by_reading(replica)
        elif replica.state is State.CANDIDATE and standing is not None:
            self._propose(replica, Kind.STANDING_DOWN, standing.compared, standing.epoch, [])
        elif replica.state is State.LEADING and view.epoch == replica.epoch:
            self._key.proposals += replica.pending

    def _resolve_by_reading(self, replica: Replica) -> None:
        value = self._key.value
        if replica.state is State.CANDIDATE and replica.standing is not None:
            if replica.standing.compared == value.revision:
                replica.stand_down()
        elif replica.pending:
            replica.forget_proposals(value.revision)
            replica.learn(value)

    def _propose(
        self, replica: Replica, kind: Kind, compared: int, epoch: int, members: list[Copy]
    ) -> Proposal:
        in_sync = tuple(sorted(members))
        proposal = Proposal(
            replica.node, replica.life, kind, compared, epoch, replica.copy, in_sync
        )
        self._key.proposals.append(proposal)
        return proposal

    def _stop(self, replica: Replica) -> None:
        kept = len(replica.log)
        if self._random.random() < _POWER_LOSS_CHANCE:
            kept = self._random.randint(replica.durable, kept)
        replica.stop(kept)
        self._links.reset(replica.node)

    def _lose_disk(self, replica: Replica) -> None:
        """Once a run: two lost disks are more than a majority of three survives."""
        if self.counts["disks lost"]:
            return
        self.counts["disks lost"] += 1
        replica.stop(0)
        keeps_number = self._broken is BrokenRule.DISK_KEEPS_NUMBER
        replica.start_from_nothing(keeps_number=keeps_number)
        self._links.reset(replica.node)

    def _drop_copy(self, replica: Replica) -> None:
        """One that by its view is not in the set starts from nothing: damage, or a catch-up that
        failed."""
        view = replica.view
        outside = view is not None and replica.copy not in view.in_sync
        if replica.state is State.FOLLOWING and outside and replica.log:
            self.counts["copies dropped"] += 1
            keeps_number = self._broken is BrokenRule.DROP_KEEPS_NUMBER
            replica.start_from_nothing(keeps_number=keeps_number)
            self._links.reset(replica.node)
