"""Exchanges that lead nowhere, and queues that nothing leads to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology import examine

UNBOUND, ALTERNATE, UNREACHED = "exchange-unbound", "alternate-missing", "queue-unreached"


def test_an_exchange_without_a_binding(of_file: Any, of_broker: Any) -> None:
    finding = of_file("exchanges:\n  x: {type: topic}\n")[UNBOUND, "x"]
    assert finding.place == "t.yaml:2"
    assert "bind: [{from: x, key: KEY}]" in finding.mend.first
    bound = of_broker(Exchange("x"), Queue("q"), Binding("x", "q"))
    assert bound == {}


@pytest.mark.parametrize("kind", ["direct", "topic", "fanout", "headers", "x-mine"])
def test_the_command_keeps_every_message(of_broker: Any, kind: str) -> None:
    command = of_broker(Exchange("x", kind))[UNBOUND, "x"].mend.command
    assert '"name":"x.unrouted"' in command
    assert ("alternate-exchange" in command) is (kind in ("direct", "x-mine"))


def test_who_is_not_unbound(of_broker: Any, live: Any) -> None:
    dead = Queue("q", arguments={"x-dead-letter-exchange": "dlx"})
    said = of_broker(
        Exchange("inner", internal=True),
        Exchange("spills", arguments={"alternate-exchange": "un"}),
        Exchange("un", "fanout"),
        Exchange("dlx"),
        Exchange("bound"),
        Queue("p"),
        dead,
        Binding("un", "p"),
        Binding("bound", "spills", to_exchange=True),
    )
    # The dead-letter exchange is told once, with the queue whose messages are lost.
    assert [key for key in said if key[0] == UNBOUND] == []
    assert ("dead-letter-unrouted", "q") in said
    private = replace(live(Exchange("x")), bound_besides=frozenset(["x"]))
    assert examine(None, private) == ()


def test_an_alternate_that_leads_nowhere(of_file: Any, of_broker: Any) -> None:
    said = of_file("exchanges:\n  x: {alternate: gone}\nqueues:\n  q: {bind: [{from: x}]}\n")
    assert said[ALTERNATE, "x"].line == 2
    assert [key for key in said if key[0] == "refused"] == []
    spills = Exchange("x", arguments={"alternate-exchange": "un"})
    said = of_broker(spills, Exchange("un", "fanout"))
    assert list(said) == [(UNBOUND, "un")]
    assert (ALTERNATE, "x") in of_broker(spills)


def test_a_queue_that_nothing_reaches(of_file: Any, of_broker: Any) -> None:
    finding = of_file("queues:\n  q:\n")[UNREACHED, "q"]
    assert finding.severity == "remark"
    # Its own tiers give it only what it has had; another queue's dead letters are new to it.
    assert (UNREACHED, "q") in of_file("queues:\n  q: {retry: {after: [5s]}}\n")
    said = of_file('queues:\n  q:\n  p: {dead_letter: {exchange: "", key: q}}\n')
    assert (UNREACHED, "q") not in said
    assert (UNREACHED, "p") in said
    said = of_broker(Queue("q"), Queue("p"), counts={"q": (3, 0), "p": (0, 1)})
    assert [key for key in said if key[0] == UNREACHED] == [(UNREACHED, "q")]
    assert said[UNREACHED, "q"].messages == 3
