"""Reading a definitions file: its items, and the fault of each that can't be read."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.http.definitions.file import (
    BindingItem,
    DefinitionsFile,
    ExchangeItem,
    QueueItem,
)

EXCHANGE = {"name": "x", "vhost": "/", "type": "topic", "durable": True, "auto_delete": False}
QUEUE = {"name": "q", "vhost": "/", "durable": True, "auto_delete": False}
BINDING = {
    "source": "x", "vhost": "/", "destination": "q", "destination_type": "queue",
    "routing_key": "a.*",
}  # fmt: skip


def read(body: dict[str, Any], vhost: str | None) -> DefinitionsFile:
    found = DefinitionsFile()
    for _ in found.read(body, vhost):
        pass
    return found


def test_items_as_rabbitmq_writes_them() -> None:
    body = {
        "exchanges": [{**EXCHANGE, "internal": True, "arguments": {"alternate-exchange": "y"}}],
        "queues": [{**QUEUE, "arguments": {"x-max-length": 5, "list": [1, None, "x"], "f": 1.5}}],
        "bindings": [
            BINDING,
            {**BINDING, "destination_type": "exchange", "arguments": {"x-match": "all"}},
        ],
    }
    found = read(body, None)
    assert found.faults == []
    assert found.exchanges == [
        ExchangeItem("/", "x", "topic", True, False, True, {"alternate-exchange": "y"})
    ]
    assert found.queues == [
        QueueItem(
            "/", "q", True, False, {"x-max-length": 5, "list": [1, None, "x"], "f": 1.5}
        )
    ]  # fmt: skip
    assert found.bindings == [
        BindingItem("/", "x", "q", True, "a.*", {}),
        BindingItem("/", "x", "q", False, "a.*", {"x-match": "all"}),
    ]


def test_what_may_be_left_out() -> None:
    found = read({}, None)
    assert (found.exchanges, found.queues, found.bindings, found.faults) == ([], [], [], [])
    found = read({"exchanges": [{**EXCHANGE, "arguments": []}]}, None)
    assert (found.exchanges[0].internal, found.exchanges[0].arguments) == (False, {})
    assert found.faults == []


def test_a_virtual_host_that_is_given_wins() -> None:
    found = read({"queues": [{**QUEUE, "vhost": "other"}]}, "/")
    assert found.queues[0].vhost == "/"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"queues": {}}, "queues: {} is not a list"),
        ({"queues": [5]}, "queues, item 1: 5 is not an object"),
        ({"queues": [QUEUE, {"vhost": "/"}]}, "queue number 2: name is missing (expected a text)"),
        ({"queues": [{**QUEUE, "name": ""}]}, "queue '': the name is empty"),
        ({"queues": [{**QUEUE, "name": "\r\n"}]}, "queue '\\r\\n': the name is empty"),
        ({"queues": [{**QUEUE, "name": "n" * 256}]}, "queue 'nnn"),
        ({"queues": [{**QUEUE, "name": "\ud800"}]}, "queue '\\ud800': name: "),
        ({"queues": [{**QUEUE, "durable": 1}]}, "queue 'q': durable is 1 (expected true or false)"),
        ({"queues": [{"name": "q", "vhost": "/", "durable": True}]}, "queue 'q': auto_delete is"),
        ({"queues": [{"name": "q"}]}, "queue 'q': vhost is missing"),
        ({"queues": [{**QUEUE, "type": "stream"}]}, "queue 'q': this broker has no queues of type"),
        ({"queues": [{**QUEUE, "type": 1}]}, "queue 'q': this broker has no queues of type 1"),
        ({"queues": [{**QUEUE, "arguments": 5}]}, "queue 'q': arguments is 5 (expected an object)"),
        ({"queues": [{**QUEUE, "arguments": {"k": 1 << 70}}]}, "queue 'q': arguments: "),
        ({"queues": [{**QUEUE, "arguments": {"k": "\ud800"}}]}, "queue 'q': arguments: "),
        ({"queues": [{**QUEUE, "arguments": {"\ud800": 1}}]}, "queue 'q': arguments: "),
        ({"queues": [{**QUEUE, "arguments": {"k" * 256: 1}}]}, "queue 'q': arguments: "),
        ({"exchanges": [{**EXCHANGE, "type": None}]}, "exchange 'x': type is None"),
        ({"exchanges": [{**EXCHANGE, "internal": "no"}]}, "exchange 'x': internal is 'no'"),
        (
            {"bindings": [{**BINDING, "destination_type": "user"}]},
            "binding 'x' -> 'q': destination_type is 'user' (expected 'queue' or 'exchange')",
        ),
        ({"bindings": [{"source": "x", "vhost": "/"}]}, "binding number 1: destination_type is"),
        ({"bindings": [{**BINDING, "routing_key": 5}]}, "binding 'x' -> 'q': routing_key is 5"),
    ],
)
def test_a_fault_has_the_name_of_its_item(body: dict[str, Any], fault: str) -> None:
    (found,) = read(body, None).faults
    assert found.startswith(fault)


def test_arguments_that_the_next_start_could_not_read() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"k": deep}
    wide = {"k": list(range(20_000))}
    for arguments in (deep, wide):
        (fault,) = read({"queues": [{**QUEUE, "arguments": arguments}]}, "/").faults
        assert fault.startswith("queue 'q': arguments: ")


def test_every_fault_is_told_and_the_rest_is_read() -> None:
    body = {"queues": [{**QUEUE, "durable": 1}, QUEUE, {**QUEUE, "name": 1}], "exchanges": 1}
    found = read(body, None)
    assert [item.name for item in found.queues] == ["q"]
    assert len(found.faults) == 3


def test_what_a_broker_has_named_is_skipped_by_name() -> None:
    body = {
        "queues": [QUEUE, {**QUEUE, "name": "amq.gen-x"}, {**QUEUE, "name": "\namq.y"}],
        "bindings": [
            {**BINDING, "destination": "amq.gen-x"},
            {**BINDING, "destination": "amq.topic", "destination_type": "exchange"},
        ],
    }
    found = read(body, None)
    assert found.faults == []
    assert [item.name for item in found.queues] == ["q"]
    assert [item.destination for item in found.bindings] == ["amq.topic"]
    assert found.skipped == ["queue 'amq.gen-x'", "queue '\\namq.y'", "binding 'x' -> 'amq.gen-x'"]


def test_a_queues_type_is_an_argument_too() -> None:
    quorum = {"x-queue-type": "quorum"}
    body = {
        "queues": [
            {**QUEUE, "type": "quorum"},
            {**QUEUE, "name": "r", "type": "quorum", "arguments": {**quorum, "x-expires": 9}},
            {**QUEUE, "name": "s", "type": "classic"},
        ]
    }
    found = read(body, None)
    assert found.faults == []
    assert [item.arguments for item in found.queues] == [quorum, {**quorum, "x-expires": 9}, {}]
