"""The messages and queues of a scenario, and refusals before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqkit.topology import loads
from mqkit_cli.demo.records import Record, read_records
from mqkit_cli.demo.scenario import (
    OWN_WAREHOUSE,
    WAREHOUSE,
    Scenario,
    flight_key,
    make_scenario,
    template_keys,
)
from mqkit_cli.errors import CommandError

FLIGHTS = Path(__file__).resolve().parents[3] / "examples" / "flights"

TOPOLOGY = """
vhost: mine
exchanges:
  first: {type: topic}
  second: {type: direct}
queues:
  late: {bind: [{from: first, key: "*.late"}], retry: {after: [1s], then: park}}
  eu: {bind: [{from: first, key: "eu.#"}]}
"""


def records(*fields: dict[str, Any]) -> list[Record]:
    return [Record(f"r.jsonl:{line}", b"{}", each) for line, each in enumerate(fields, start=1)]


def scenario(
    text: str = TOPOLOGY,
    given: list[Record] | None = None,
    *,
    exchange: str | None = None,
    template: str | None = None,
) -> Scenario:
    return make_scenario(
        records({}, {}, {}) if given is None else given,
        loads(text, "t.yaml"),
        exchange=exchange,
        key_of=None if template is None else template_keys(template),
        prefix="record",
    )


def test_the_flights_go_where_their_delay_says() -> None:
    flights = make_scenario(
        read_records(FLIGHTS / "flights-20k.json"),
        loads((FLIGHTS / "topology.yaml").read_text()),
        exchange=None,
        key_of=flight_key,
        prefix="flight",
    )
    assert (flights.exchange, flights.warehouse) == ("flights", WAREHOUSE)
    assert [queue.name for queue in flights.queues] == ["delays", "punctual"]
    assert len(flights.expected) == len(flights.items) == 20_000
    first = flights.items[0]
    assert (first.message.routing_key, first.queues) == ("DTW.late", ("delays",))
    assert sum(item.queues == ("delays",) for item in flights.items) == 4551
    assert len(flights.incurable) == 200


def test_keys_cycle_over_the_queues_where_nothing_is_said() -> None:
    made = scenario()
    assert made.exchange == "first"
    assert [item.queues for item in made.items] == [("late",), ("eu",), ("late",)]
    assert [item.message_id for item in made.items] == [f"record-{n:06d}" for n in range(3)]


def test_keys_come_from_a_template() -> None:
    made = scenario(given=records({"where": "eu", "n": 1}), template="{where}.late")
    assert made.items[0].message.routing_key == "eu.late"
    assert made.items[0].queues == ("late", "eu")
    assert made.expected == {("late", "record-000000"), ("eu", "record-000000")}


def test_a_topology_of_queues_only_is_filled_by_name() -> None:
    made = scenario("queues: {one: {}, two: {}}")
    assert (made.exchange, [item.queues[0] for item in made.items]) == ("", ["one", "two", "one"])


def test_the_warehouse_is_a_queue_that_nothing_else_fills() -> None:
    assert scenario().warehouse == OWN_WAREHOUSE
    assert scenario().topology.queue(OWN_WAREHOUSE) is not None
    assert scenario(TOPOLOGY + "  warehouse: {}\n").warehouse == WAREHOUSE
    bound = TOPOLOGY + "  warehouse: {bind: [{from: second, key: x}]}\n"
    assert scenario(bound).warehouse == OWN_WAREHOUSE


def test_a_key_may_have_fields_of_the_objects_in_a_record() -> None:
    given = records({"properties": {"kind": {"short": "us"}}, "end": "ontime"})
    key_of = template_keys("{properties.kind.short}.{end}")
    assert key_of(0, given[0]) == "us.ontime"
    with pytest.raises(CommandError, match=r"no field 'properties\.mag' .*\(has: kind\)"):
        template_keys("{properties.mag}")(0, given[0])
    with pytest.raises(CommandError, match=r"no field 'end\.x' .*\(has: none: it is not an"):
        template_keys("{end.x}")(0, given[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"exchange": "third"}, r"no exchange 'third' .*'first', 'second'"),
        ({"exchange": "second"}, "nothing that exchange 'second' .* would reach a queue"),
        ({"template": "{a}.b"}, r"r\.jsonl:1: no field 'a' .*\(has: none: it is not an object\)"),
        ({"template": "us.ontime"}, r"r\.jsonl:1: no queue .* takes the routing key 'us.ontime'"),
        ({"template": "{a"}, "--routing-key '{a': expected '}'"),
        ({"template": "{a..b}"}, "expected text with names of fields"),
        ({"template": "{a[0]}"}, "expected text with names of fields"),
        ({"template": "{a:>9}"}, "expected text with names of fields"),
    ],
)
def test_what_can_t_be_routed_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(CommandError, match=words) as caught:
        scenario(**options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["x" * 256, "\ud800"])
def test_a_key_that_amqp_can_t_carry_is_refused(value: str) -> None:
    with pytest.raises(CommandError, match=r"r\.jsonl:1: the routing key is not text of at most"):
        scenario(given=records({"a": value}), template="{a}")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("durable: false", "is not durable"),
        ("auto_delete: true", "is deleted by itself"),
        ("exclusive: true", "is exclusive"),
        ("message_ttl: 5s", "lets messages expire"),
    ],
)
def test_what_would_not_survive_the_kill_is_refused_with_its_line(
    settings: str, words: str
) -> None:
    text = "queues:\n  fine: {}\n  frail: {" + settings + "}\n"
    with pytest.raises(CommandError, match=rf"t\.yaml:3: queue 'frail' {words}"):
        scenario(text)
