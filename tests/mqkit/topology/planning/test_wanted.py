"""All that a file wants of a broker."""

from __future__ import annotations

from mqkit.topology import Wanted, compile_topology, loads
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

TEXT = """
exchanges: {mine: {}, theirs: {external: true}}
queues:
  q: {message_ttl: 1s, via_policy: [message_ttl]}
  plain: {}
  there: {external: true}
"""


def test_declarations_policies_and_what_is_left_to_others() -> None:
    topology = loads(TEXT)
    wanted = Wanted.of(topology)
    assert wanted.declarations == compile_topology(topology)
    assert [policy.name for policy in wanted.policies] == ["q.policy"]
    assert wanted.own_policies == {"q.policy", "plain.policy"}
    assert set(wanted.external_exchanges) == {"theirs"}
    assert set(wanted.external_queues) == {"there"}


def test_the_broker_s_policies_count() -> None:
    live = PolicyModel("wide", "", ApplyTo.ALL, 5, {"expires": 9})
    (own,) = Wanted.of(loads(TEXT), [live]).policies
    assert own.priority == 6
