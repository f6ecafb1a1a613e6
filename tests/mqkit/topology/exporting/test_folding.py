"""The look of an export, and the retry policies folded back in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology import Snapshot, compile_topology, export, loads
from mqkit.topology.snapshot import LiveQueue

FLIGHTS = """\
vhost: "/"
exchanges:
  flights:
    type: topic
queues:
  delays:
    bind:
      - {from: flights, key: "*.late"}
    max_length: 100000
    retry: {after: [1s, 5s, 30s, 5m], then: park}
"""


def live(text: str) -> Snapshot:
    return Snapshot.of("/", compile_topology(loads(text)))


@pytest.mark.parametrize(
    "text",
    [
        FLIGHTS,
        FLIGHTS.replace("    max_length: 100000\n", ""),
        FLIGHTS.replace("    max_length: 100000\n", "").replace("park", "drop"),
        FLIGHTS.replace("    bind", "    type: quorum\n    bind"),
        FLIGHTS.replace("100000\n", "100000\n    overflow: drop-head\n"),
        'vhost: "/"\nexchanges: {}\nqueues: {}\n',
    ],
)
def test_a_file_comes_back_as_it_was_written(text: str) -> None:
    assert export(live(text)) == text


@pytest.mark.parametrize(
    "retry",
    [
        "{after: [1s, 1s, 5s], errors: {KeyError: [2s], ValueError: park}, give_up_after: 1h}",
        "{from: 1s, factor: 2, most: 5m, times: 8, jitter: 0.2}",
        "{after: [5s], then: drop, errors: {KeyError: park}}",
    ],
)
def test_of_a_policy_the_tiers_come_back_and_plan_as_nothing_to_do(retry: str) -> None:
    snapshot = live(f"vhost: /\nqueues:\n  q:\n    retry: {retry}\n")
    text = export(snapshot)
    assert "  q:\n    retry: {after: [" in text
    assert "then: park}" in text
    assert set(map(repr, live(text).declarations)) == set(map(repr, snapshot.declarations))


def test_a_tier_that_differs_is_written_out_raw() -> None:
    snapshot = live(FLIGHTS)
    changed = tuple(
        replace(item, queue=replace(item.queue, arguments={**item.queue.arguments, "x-expires": 9}))
        if item.queue.name == "delays.retry.5s"
        else item
        for item in snapshot.queues
    )
    text = export(replace(snapshot, queues=changed))
    assert "retry:" not in text
    assert "delays.retry.5s:\n    message_ttl: 5s\n    expires: 9ms\n" in text
    assert '    dead_letter: {exchange: "", key: delays}\n' in text


def test_a_tier_that_somebody_bound_is_written_out_with_its_binding() -> None:
    snapshot = live(FLIGHTS)
    bindings = (*snapshot.bindings, Binding("flights", "delays.parked", "x"))
    text = export(replace(snapshot, bindings=bindings))
    assert "retry:" not in text
    assert "  delays.parked:\n    bind:\n      - {from: flights, key: x}\n" in text


def test_a_limit_without_overflow_is_kept_as_a_raw_argument() -> None:
    snapshot = Snapshot.of("/", (Queue("q", arguments={"x-max-length": 5}),))
    assert "  q:\n    arguments:\n      x-max-length: 5\n" in export(snapshot)


def test_what_is_referred_to_and_not_there_becomes_external() -> None:
    dead = {"x-dead-letter-exchange": "gone"}
    away = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "away"}
    x = Exchange("x", arguments={"alternate-exchange": "lost"})
    text = export(Snapshot.of("/", (x, Queue("p", arguments=dead), Queue("q", arguments=away))))
    for name in ("gone", "lost", "away"):
        assert f"  {name}:\n    external: true\n" in text
    assert loads(text)


def test_exclusive_queues_belong_to_connections() -> None:
    entry = LiveQueue(Queue("mine", exclusive=True), 0, 1)
    snapshot = Snapshot("/", queues=(entry,), bindings=(Binding("amq.topic", "mine"),))
    assert export(snapshot) == 'vhost: "/"\nexchanges: {}\nqueues: {}\n'


def test_what_mqkit_refuses_is_exported_with_a_remark() -> None:
    ring = (Exchange("a"), Exchange("b"), Binding("a", "b", "", True), Binding("b", "a", "", True))
    text = export(Snapshot.of("/", ring))
    assert text.startswith("# mqkit refuses this: exchanges.a.bind: a ring of bindings")
    assert "- {from: b}" in text
