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


DROPPING = FLIGHTS.replace("    max_length: 100000\n", "").replace("park", "drop")


def test_nobody_guesses_that_a_policy_drops() -> None:
    text = export(live(DROPPING))
    assert "retry:" not in text
    assert "  delays.retry.5m:\n    message_ttl: 5m\n" in text
    assert set(map(repr, live(text).declarations)) == set(map(repr, live(DROPPING).declarations))
    assert export(live(DROPPING), like=loads(FLIGHTS)) == text
    assert export(live(DROPPING), like=loads(DROPPING)) == DROPPING


NAMED = """\
vhost: "/"
exchanges:
  dlx:
    type: direct
queues:
  mail:
    dead_letter: {exchange: dlx, key: dlq}
    retry: {after: [10s, 30s], then: park, park: dlq, tiers: "mail.wait.{after}"}
    arguments:
      x-max-length: 5
  dlq:
    bind:
      - {from: dlx, key: dlq}
  sms:
    retry: {from: 1s, factor: 2, times: 2, jitter: 0.2, then: park, park: failed}
  fax:
    type: classic
    retry: {after: [1s], then: park, errors: {KeyError: [5s]}, park: failed, tiers: "f.{after}"}
  plain: {}
"""


def queues_of(text: str) -> set[str]:
    return {model.name for model in loads(text).queues}


def test_names_are_folded_back_where_a_file_says_them() -> None:
    snapshot = live(NAMED)
    assert export(snapshot, like=loads(NAMED)).splitlines() == [
        *sorted_queues(NAMED.splitlines(), snapshot)
    ]
    alone = export(snapshot)
    assert "retry:" not in alone
    assert {"mail.wait.10s", "sms.retry.1s", "f.5s", "failed"} <= queues_of(alone)
    for text in (alone, export(snapshot, like=loads(NAMED))):
        assert set(map(repr, live(text).declarations)) == set(map(repr, snapshot.declarations))


def sorted_queues(lines: list[str], snapshot: Snapshot) -> list[str]:
    """The lines of a file, its queues by their names."""
    start = lines.index("queues:") + 1
    blocks: dict[str, list[str]] = {}
    for line in lines[start:]:
        if not line.startswith("    "):
            name = line.partition(":")[0].strip()
        blocks.setdefault(name, []).append(line)
    order = sorted(it.queue.name for it in snapshot.queues if it.queue.name in blocks)
    return [*lines[:start], *(line for name in order for line in blocks[name])]


def test_a_file_that_names_other_tiers_gives_its_names_to_those_that_are_there() -> None:
    more = NAMED.replace("[10s, 30s]", "[10s, 30s, 60s]")
    assert "after: [10s, 30s], then: park, park: dlq" in export(live(NAMED), like=loads(more))
    old = NAMED.replace('park, park: dlq, tiers: "mail.wait.{after}"', "park")
    assert "after: [10s, 30s], then: park}" in export(live(old), like=loads(NAMED))


def test_a_pattern_without_the_time_names_the_one_tier() -> None:
    one = "vhost: /\nqueues:\n  q:\n    retry: {after: [5s], then: park, tiers: later}\n"
    like = loads(one.replace("5s", "9s"))
    assert "    retry: {after: [5s], then: park, tiers: later}" in export(live(one), like=like)


def test_a_lot_that_somebody_bound_is_written_out_and_stays_the_lot() -> None:
    one = "vhost: /\nexchanges: {x: }\nqueues:\n  q:\n    retry: {after: [5s], park: dlq}\n"
    snapshot = live(one)
    bound = replace(snapshot, bindings=(Binding("x", "dlq", "k"),))
    text = export(bound, like=loads(one))
    assert "  dlq:\n    bind:\n      - {from: x, key: k}\n" in text
    assert "park: dlq" in text
    assert set(map(repr, live(text).declarations)) == set(map(repr, bound.declarations))


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
