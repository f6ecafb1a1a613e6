"""``via_policy`` in an export."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqkit.declaration import Queue
from mqkit.topology import Snapshot, Topology, Wanted, compile_topology, export, loads
from mqkit.topology.exporting.own_fold import Form, OwnPolicies
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

WIDE = PolicyModel("wide", "", ApplyTo.ALL, 3, {"max-length": 9, "ha-mode": "all"})


def live(topology: Topology, *policies: PolicyModel) -> Snapshot:
    wanted = Wanted.of(topology, policies)
    there = (*wanted.policies, *policies)
    return replace(Snapshot.of("/", compile_topology(topology)), policies=there)


@pytest.mark.parametrize(
    "queue",
    [
        "{max_length: 5, overflow: drop-head, via_policy: [max_length]}",
        "{max_length: 5, overflow: drop-head, via_policy: [max_length, overflow]}",
        "{message_ttl: 1s, expires: 1h, via_policy: [message_ttl, expires]}",
        "{dead_letter: {exchange: '', key: lot}, via_policy: [dead_letter]}",
        "{max_length: 5, retry: {after: [1s], then: park}, via_policy: [max_length, dead_letter]}",
        "{type: quorum, max_length: 5, overflow: reject-publish, via_policy: [max_length]}",
    ],
)
@pytest.mark.parametrize("others", [(), (WIDE,)])
def test_a_queue_s_own_policy_is_read_back(queue: str, others: tuple[PolicyModel, ...]) -> None:
    topology = loads(f"queues: {{q: {queue}, lot: {{}}}}")
    snapshot = live(topology, *others)
    read = loads(export(snapshot))
    model = read.queue("q")
    assert model is not None
    assert model.via_policy == topology.queues[0].via_policy
    assert "q.policy" not in {policy.name for policy in read.policies}
    compiled = {policy.name: policy for policy in Wanted.of(read).policies}
    assert compiled == {policy.name: policy for policy in snapshot.policies}


@pytest.mark.parametrize(
    "own",
    [
        PolicyModel("q.policy", "^q$", ApplyTo.QUEUES, 7, {"expires": 5}),
        PolicyModel("q.policy", "^q", ApplyTo.QUEUES, 0, {"expires": 5}),
        PolicyModel("q.policy", "^q$", ApplyTo.ALL, 0, {"expires": 5}),
        PolicyModel("q.policy", "^q$", ApplyTo.QUEUES, 0, {"queue-mode": "lazy"}),
        PolicyModel("q.policy", "^q$", ApplyTo.QUEUES, 0, {"expires": 5, "queue-mode": "lazy"}),
    ],
)
def test_what_is_not_exactly_one_stays_a_policy(own: PolicyModel) -> None:
    snapshot = replace(Snapshot.of("/", (Queue("q"),)), policies=(own,))
    read = loads(export(snapshot))
    assert read.policies == (own,)
    assert read.queues[0].via_policy == ()


def test_an_argument_beside_the_policy_is_not_taken_for_it() -> None:
    own = PolicyModel("q.policy", "^q$", ApplyTo.QUEUES, 0, {"message-ttl": 5})
    queue = Queue("q", arguments={"x-message-ttl": 9})
    assert list(OwnPolicies([own]).forms(queue)) == [Form(queue)]
