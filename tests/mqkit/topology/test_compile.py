"""The model as declarations, in order."""

from __future__ import annotations

from pathlib import Path

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology.compile import compile_delays, compile_topology
from mqkit.topology.file.read import load, loads
from mqkit.topology.model import ExchangeModel

EXAMPLE = Path(__file__).parents[3] / "examples" / "flights" / "topology.yaml"

LOT = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q.parked"}


def arguments_of(keys: str) -> dict[str, object]:
    declarations = compile_topology(loads(f"queues:\n  q: {{{keys}}}\n  other: {{}}\n"))
    return next(dict(item.arguments) for item in declarations if getattr(item, "name", "") == "q")


def test_exchanges_then_queues_then_bindings() -> None:
    topology = loads(
        """
queues:
  q: {bind: [{from: b, key: k}], retry: {after: [1s]}}
exchanges:
  a: {external: true}
  b: {type: topic, bind: [{from: a, arguments: {x: 1}}], alternate: a}
"""
    )
    assert compile_topology(topology) == (
        Exchange("b", type="topic", arguments={"alternate-exchange": "a"}),
        Queue("q.parked"),
        Queue("q"),
        Queue(
            "q.retry.1s",
            arguments={
                "x-message-ttl": 1_000,
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": "q",
            },
        ),
        Binding("a", "b", to_exchange=True, arguments={"x": 1}),
        Binding("b", "q", "k"),
    )


def test_the_delays_of_an_exchange_come_after_it_and_before_what_it_routes_to() -> None:
    topology = loads(
        """
exchanges:
  a: {type: topic, delays: [1h, 5m]}
  b: {bind: [{from: a}]}
queues:
  q: {bind: [{from: a}]}
"""
    )

    def waiting(name: str, ttl_ms: int) -> Queue:
        return Queue(name, arguments={"x-message-ttl": ttl_ms, "x-dead-letter-exchange": "a"})

    assert compile_topology(topology) == (
        Exchange("a", type="topic"),
        Exchange("a.delay.5m", type="fanout"),
        Exchange("a.delay.1h", type="fanout"),
        Exchange("b"),
        waiting("a.delay.5m", 300_000),
        waiting("a.delay.1h", 3_600_000),
        Queue("q"),
        Binding("a.delay.5m", "a.delay.5m"),
        Binding("a.delay.1h", "a.delay.1h"),
        Binding("a", "b", to_exchange=True),
        Binding("a", "q"),
    )


def test_a_delay_that_a_model_made_in_code_has_twice_is_one() -> None:
    delays = compile_delays(ExchangeModel("a", delays=(5_000, 1_000, 5_000)))
    assert [queue.name for _, queue, _ in delays] == ["a.delay.1s", "a.delay.5s"]


def test_the_tiers_of_all_rules_are_queues_each_once_shortest_first() -> None:
    queues = compile_topology(
        loads("queues: {q: {retry: {after: [5s, 1m], errors: {KeyError: [1s, 1m]}}}}")
    )
    names = ["q.parked", "q", "q.retry.1s", "q.retry.5s", "q.retry.1m"]
    assert [getattr(queue, "name", "") for queue in queues] == names
    grown = compile_topology(
        loads("queues: {q: {retry: {from: 1s, times: 2, jitter: 0.5, then: drop}}}")
    )
    tiers = [f"q.retry.{ms}" for ms in ("500ms", "1s", "1500ms", "2s", "3s")]
    assert [getattr(queue, "name", "") for queue in grown] == ["q", *tiers]


def test_the_topology_of_the_examples_compiles_to_what_it_always_did() -> None:
    """An application that runs must not see new queues beside its old ones."""

    def queue(name: str) -> tuple[Queue, ...]:
        lot = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"{name}.parked"}
        back = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name}
        limits = {"x-max-length": 100_000, "x-overflow": "drop-head"}
        return (
            Queue(f"{name}.parked"),
            Queue(name, arguments={**limits, **lot}),
            Queue(f"{name}.retry.200ms", arguments={"x-message-ttl": 200, **back}),
            Queue(f"{name}.retry.1s", arguments={"x-message-ttl": 1_000, **back}),
            Queue(f"{name}.retry.3s", arguments={"x-message-ttl": 3_000, **back}),
        )

    assert compile_topology(load(EXAMPLE)) == (
        Exchange("flights", type="topic"),
        *queue("delays"),
        *queue("punctual"),
        Queue("warehouse"),
        Binding("flights", "delays", "*.late"),
        Binding("flights", "punctual", "*.ontime"),
    )


def test_a_limit_with_a_parking_lot_is_drop_head_into_it() -> None:
    assert arguments_of("max_length: 5, retry: {after: [1s]}") == {
        "x-max-length": 5,
        "x-overflow": "drop-head",
        **LOT,
    }


def test_plain_drop_head_is_taken_at_its_word() -> None:
    arguments = arguments_of("max_length: 5, overflow: drop-head, retry: {after: [1s]}")
    assert arguments == {"x-max-length": 5, "x-overflow": "drop-head"}


def test_what_else_the_broker_would_throw_away_goes_to_the_parking_lot() -> None:
    assert arguments_of("message_ttl: 5s, retry: {after: [1s]}") == {"x-message-ttl": 5_000, **LOT}
    assert arguments_of("type: quorum, retry: {after: [1s]}") == {"x-queue-type": "quorum", **LOT}


def test_retry_alone_changes_nothing_on_the_queue_so_that_it_can_be_added_later() -> None:
    assert arguments_of("retry: {after: [1s]}") == {}


def test_a_dead_letter_of_the_files_own_comes_first() -> None:
    keys = "max_length: 5, dead_letter: {exchange: '', key: other}, retry: {after: [1s]}"
    assert arguments_of(keys) == {
        "x-max-length": 5,
        "x-overflow": "drop-head",
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "other",
    }
    assert arguments_of("dead_letter: {exchange: amq.fanout}") == {
        "x-dead-letter-exchange": "amq.fanout"
    }


NAMED = "{after: [1s, 5s], park: lot, tiers: 'w.{after}'}"


def names_of(text: str) -> list[str]:
    return [
        declared.name for declared in compile_topology(loads(text)) if hasattr(declared, "name")
    ]


def test_lots_and_tiers_have_the_names_that_the_policy_gives() -> None:
    text = f"queues: {{q: {{max_length: 5, retry: {NAMED}}}}}"
    lot, queue, *tiers = compile_topology(loads(text))
    assert lot == Queue("lot")
    assert queue.arguments["x-dead-letter-routing-key"] == "lot"
    back = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q"}
    assert tiers == [
        Queue("w.1s", arguments={"x-message-ttl": 1_000, **back}),
        Queue("w.5s", arguments={"x-message-ttl": 5_000, **back}),
    ]


def test_a_lot_of_the_file_is_declared_once_as_it_is_and_before_what_parks_there() -> None:
    text = f"queues:\n  q: {{retry: {NAMED}}}\n  plain: {{}}\n  lot: {{max_priority: 5}}\n"
    declared = compile_topology(loads(text))
    assert declared[0] == Queue("lot", arguments={"x-max-priority": 5})
    assert names_of(text) == ["lot", "q", "w.1s", "w.5s", "plain"]


def test_a_lot_that_is_external_is_not_declared() -> None:
    text = f"queues:\n  q: {{retry: {NAMED}}}\n  lot: {{external: true}}\n"
    assert names_of(text) == ["q", "w.1s", "w.5s"]


def test_a_lot_of_several_queues_and_a_tier_of_the_file_are_declared_once() -> None:
    text = (
        f"queues:\n  q: {{retry: {NAMED}}}\n  r: {{retry: {{after: [1s], park: lot}}}}\n"
        "  w.5s: {message_ttl: 5s, dead_letter: {exchange: '', key: q}, type: classic}\n"
    )
    assert names_of(text) == ["lot", "q", "w.1s", "r", "r.retry.1s", "w.5s"]
    assert compile_topology(loads(text))[-1].arguments["x-queue-type"] == "classic"


def test_lots_of_the_file_come_before_all_that_parks_there_however_they_hang_together() -> None:
    text = (
        "queues:\n  a: {retry: {after: [1s], park: b}}\n  b: {retry: {after: [1s], park: c}}\n"
        "  c: {}\n"
    )
    assert names_of(text) == ["c", "b", "b.retry.1s", "a", "a.retry.1s"]


def test_the_plain_keys() -> None:
    keys = "message_ttl: 1s, expires: 1m, max_priority: 5, max_length_bytes: 9, type: classic"
    assert arguments_of(keys + ", overflow: reject-publish, arguments: {x-mine: [1]}") == {
        "x-queue-type": "classic",
        "x-message-ttl": 1_000,
        "x-expires": 60_000,
        "x-max-length-bytes": 9,
        "x-max-priority": 5,
        "x-overflow": "reject-publish",
        "x-mine": [1],
    }
