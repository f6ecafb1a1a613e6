"""The lots and tiers that a topology names."""

from __future__ import annotations

from mqkit.topology import loads
from mqkit.topology.retrying.known_lots import known_lots, parking_in

TOPOLOGY = loads("""\
queues:
  email-queue: {retry: {after: [1s, 5s], park: email-dlq, tiers: "email-queue.wait.{after}"}}
  sms: {retry: {after: [1s], park: failed}}
  push: {retry: {after: [1s], park: failed}}
  fax: {retry: {after: [1s], park: failed}}
  delays: {retry: {after: [1s]}}
  lost: {retry: {after: [1s], then: drop}}
  plain: {}
""")


def test_a_lot_of_one_queue_has_an_owner_and_one_of_several_has_none() -> None:
    known = known_lots(TOPOLOGY)
    assert known.owners == {
        "email-dlq": "email-queue",
        "failed": None,
        "delays.parked": "delays",
    }
    assert known.is_lot("failed")
    assert not known.is_lot("plain")


def test_tiers_are_known_by_their_names() -> None:
    known = known_lots(TOPOLOGY)
    assert known.tiers["email-queue.wait.5s"] == "email-queue"
    assert known.is_tier("email-queue.wait.1s")
    assert known.is_tier("lost.retry.1s")
    assert not known.is_tier("email-queue.wait.9s")
    assert known.is_tier("anything.retry.9s")


def test_the_queues_that_park_in_a_lot() -> None:
    assert parking_in(TOPOLOGY, "failed") == ("sms", "push", "fax")
    assert parking_in(TOPOLOGY, "plain") == ()


def test_what_lots_names_is_a_lot() -> None:
    text = "queues:\n  a: {}\n  b.parked: {}\nlots:\n  a: {alert: {depth: 1}}\n"
    found = known_lots(loads(text + "  b.parked: {alert: {depth: 1}}\n"))
    assert found.owners == {"a": None, "b.parked": "b"}
