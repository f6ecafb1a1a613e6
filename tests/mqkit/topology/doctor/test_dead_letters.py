"""Dead letters that come to nobody."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology.policy.policy_model import PolicyModel

DLX, KEY = "x-dead-letter-exchange", "x-dead-letter-routing-key"
MISSING, UNROUTED = "dead-letter-exchange-missing", "dead-letter-unrouted"
RING, VOID, DROPS = "dead-letter-ring", "at-least-once-void", "quorum-drops"


def names(said: Any, *checks: str) -> list[tuple[str, str]]:
    return [key for key in said if key[0] in checks]


def test_a_missing_exchange(of_file: Any, of_broker: Any) -> None:
    said = of_file("queues:\n  q:\n    dead_letter: {exchange: gone}\n")
    finding = said[MISSING, "q"]
    assert finding.place == "t.yaml:3"
    assert "'gone' does not exist" in finding.why
    assert finding.mend.command == "mqkit topology apply -f t.yaml"
    assert "gone: {type: fanout}" in finding.mend.first
    said = of_broker(Queue("q", arguments={DLX: "gone"}))
    assert said[MISSING, "q"].mend.command.endswith("| mqkit broker import-definitions -")
    assert said[MISSING, "q"].place == ""


@pytest.mark.parametrize(
    ("kind", "key", "binding", "is_lost"),
    [
        ("direct", "dead", "dead", False),
        ("direct", "dead", "other", True),
        ("direct", None, "other", False),  # a message may have that key
        ("topic", "dead.q", "*.q", False),
        ("topic", "dead.q", "*.p", True),
        ("fanout", None, "", False),
        ("headers", "dead", "", False),
        ("direct", None, None, True),
    ],
)
def test_an_exchange_whose_bindings_do_not_take_the_key(
    of_broker: Any, kind: str, key: str | None, binding: str | None, is_lost: bool
) -> None:
    arguments = {DLX: "dlx"} if key is None else {DLX: "dlx", KEY: key}
    bound = [] if binding is None else [Binding("dlx", "lot", binding)]
    said = of_broker(Exchange("dlx", kind), Queue("q", arguments=arguments), Queue("lot"), *bound)
    assert ((UNROUTED, "q") in said) is is_lost
    assert names(said, MISSING) == []


def test_a_queue_behind_an_exchange_behind_an_exchange(of_broker: Any) -> None:
    said = of_broker(
        Exchange("dlx", "fanout"),
        Exchange("second", "fanout"),
        Queue("q", arguments={DLX: "dlx"}),
        Queue("lot"),
        Binding("dlx", "second", to_exchange=True),
        Binding("second", "lot"),
    )
    assert names(said, UNROUTED) == []


def test_the_default_exchange_with_a_key_that_is_no_queue(of_file: Any, of_broker: Any) -> None:
    arguments = {DLX: "", KEY: "gone"}
    said = of_broker(Queue("q", arguments=arguments))
    assert "'gone', which does not exist" in said[UNROUTED, "q"].why
    assert names(of_broker(Queue("q", arguments=arguments), Queue("gone")), UNROUTED) == []
    text = 'queues:\n  q: {dead_letter: {exchange: "", key: gone}}\n'
    assert (UNROUTED, "q") in of_file(text)
    assert (UNROUTED, "q") not in of_file(text + "  gone: {external: true}\n")


def test_the_default_exchange_with_the_messages_own_key(of_broker: Any) -> None:
    queue = Queue("q", arguments={DLX: ""})
    said = of_broker(Exchange("x"), queue, Binding("x", "q", "paid"))
    assert "'paid'" in said[UNROUTED, "q"].why
    # A queue of that name gets them, and a queue without bindings is published to by its own.
    kept = of_broker(Exchange("x"), queue, Queue("paid"), Binding("x", "q", "paid"))
    assert names(kept, UNROUTED) == []
    assert names(of_broker(queue), UNROUTED) == []


def test_an_external_exchange_may_have_bindings(of_file: Any) -> None:
    said = of_file(
        "exchanges:\n  theirs: {external: true}\n"
        "queues:\n  q: {dead_letter: {exchange: theirs, key: k}}\n"
    )
    assert names(said, MISSING, UNROUTED) == []


def test_a_policy_may_dead_letter(of_broker: Any) -> None:
    policy = PolicyModel("p", "^q$", definition={"dead-letter-exchange": "gone"})
    said = of_broker(Queue("q"), Queue("other"), policies=(policy,))
    assert names(said, MISSING) == [(MISSING, "q")]


def test_a_ring(of_file: Any, of_broker: Any) -> None:
    ring = {DLX: "", "x-message-ttl": 5}
    said = of_broker(
        Queue("a", arguments={**ring, KEY: "b"}), Queue("b", arguments={**ring, KEY: "a"})
    )
    assert names(said, RING) == [(RING, "a")]
    assert "a -> b -> a" in said[RING, "a"].why
    assert said[RING, "a"].mend.command == "mqkit ctl delete_queue b --if-empty"
    said = of_file(
        "queues:\n"
        '  a: {message_ttl: 1s, dead_letter: {exchange: "", key: b}}\n'
        '  b: {message_ttl: 1s, dead_letter: {exchange: "", key: a}}\n'
    )
    assert said[RING, "a"].line == 2
    assert names(said, "refused") == []  # validate says the same


def test_a_hop_that_needs_a_rejection_is_no_ring(of_file: Any) -> None:
    said = of_file(
        "exchanges:\n  x: {}\n"
        "queues:\n"
        '  a: {bind: [{from: x}], dead_letter: {exchange: "", key: b}}\n'
        '  b: {message_ttl: 1s, dead_letter: {exchange: "", key: a}}\n'
    )
    assert said == {}


def test_at_least_once_needs_reject_publish(of_broker: Any, of_file: Any) -> None:
    quorum = {"x-queue-type": "quorum", "x-dead-letter-strategy": "at-least-once"}
    arguments = {**quorum, DLX: "", KEY: "lot"}
    said = of_broker(Queue("q", arguments=arguments), Queue("lot"))
    assert "set_policy" in said[VOID, "q"].mend.command
    arguments["x-overflow"] = "reject-publish"
    assert names(of_broker(Queue("q", arguments=arguments), Queue("lot")), VOID) == []
    said = of_file(
        "queues:\n  lot:\n  q:\n    type: quorum\n"
        '    dead_letter: {exchange: "", key: lot}\n'
        "    arguments: {x-dead-letter-strategy: at-least-once}\n"
    )
    assert (VOID, "q") in said


@pytest.mark.parametrize(
    ("limit", "is_said"), [(None, True), (5, True), (-1, False), (2**31 - 1, False)]
)
def test_a_delivery_limit_that_drops(of_broker: Any, limit: int | None, is_said: bool) -> None:
    arguments: dict[str, Any] = {"x-queue-type": "quorum"}
    if limit is not None:
        arguments["x-delivery-limit"] = limit
    said = of_broker(Queue("q", arguments=arguments))
    assert ((DROPS, "q") in said) is is_said
    if is_said:
        assert ("20 (the default" if limit is None else "after 5 ") in said[DROPS, "q"].why


def test_a_quorum_queue_with_a_parking_lot_drops_nothing(of_file: Any) -> None:
    said = of_file("queues:\n  q: {type: quorum, retry: {after: [5s]}}\n")
    assert names(said, DROPS) == []
