"""The app's topology file, and what it comes to at the broker, spelled out: the hand must not learn
it from mqkit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TOPOLOGY = """
exchanges:
  drift.x: {type: topic, alternate: drift.alternate}
  drift.alternate: {type: fanout}
  drift.direct: {type: direct}
  drift.headers: {type: headers}
  drift.inner: {type: fanout, bind: [{from: drift.x, key: "inner.#"}]}
  drift.internal: {type: topic, internal: true}
  drift.later: {type: direct, delays: [5s]}
queues:
  drift.work: {bind: [{from: drift.x, key: "a.#"}], retry: {after: [1m], then: park}}
  drift.plain: {}
  drift.consumed: {bind: [{from: drift.direct, key: consumed}]}
  drift.ttl: {message_ttl: 10s}
  drift.full: {max_length: 10, overflow: reject-publish}
  drift.dead: {dead_letter: {exchange: drift.direct, key: dead}}
  drift.ranked: {max_priority: 5}
  drift.quorum: {type: quorum}
  drift.by-headers: {bind: [{from: drift.headers, arguments: {x-match: all, kind: one}}]}
  drift.bound:
    bind:
      - {from: drift.direct, key: dead}
      - {from: drift.later, key: later}
      - {from: drift.inner}
      - {from: drift.internal, key: "#"}
"""

CONSUMED = "drift.consumed"


@dataclass(frozen=True, slots=True)
class Exchange:
    """As ``exchange.declare`` takes it."""

    name: str
    type: str = "direct"
    durable: bool = True
    auto_delete: bool = False
    internal: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Queue:
    """As ``queue.declare`` takes it."""

    name: str
    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Binding:
    """From an exchange to a queue, or to another exchange."""

    source: str
    destination: str
    key: str = ""
    to_exchange: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As the app tells it."""
        key = f" [{self.key}]" if self.key else ""
        pairs = ", ".join(f"{name}: {value}" for name, value in sorted(self.arguments.items()))
        return f"{self.source} -> {self.destination}{key}" + (f" {{{pairs}}}" if pairs else "")


EXCHANGES = {
    exchange.name: exchange
    for exchange in (
        Exchange("drift.x", "topic", arguments={"alternate-exchange": "drift.alternate"}),
        Exchange("drift.alternate", "fanout"),
        Exchange("drift.direct"),
        Exchange("drift.headers", "headers"),
        Exchange("drift.inner", "fanout"),
        Exchange("drift.internal", "topic", internal=True),
        Exchange("drift.later"),
        Exchange("drift.later.delay.5s", "fanout"),
    )
}

QUEUES = {
    queue.name: queue
    for queue in (
        Queue("drift.work"),
        Queue(
            "drift.work.retry.1m",
            arguments={
                "x-message-ttl": 60_000,
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": "drift.work",
            },
        ),
        Queue("drift.work.parked"),
        Queue("drift.plain"),
        Queue(CONSUMED),
        Queue("drift.ttl", arguments={"x-message-ttl": 10_000}),
        Queue("drift.full", arguments={"x-max-length": 10, "x-overflow": "reject-publish"}),
        Queue(
            "drift.dead",
            arguments={
                "x-dead-letter-exchange": "drift.direct",
                "x-dead-letter-routing-key": "dead",
            },
        ),
        Queue("drift.ranked", arguments={"x-max-priority": 5}),
        Queue("drift.quorum", arguments={"x-queue-type": "quorum"}),
        Queue("drift.by-headers"),
        Queue("drift.bound"),
        Queue(
            "drift.later.delay.5s",
            arguments={"x-message-ttl": 5_000, "x-dead-letter-exchange": "drift.later"},
        ),
    )
}

BINDINGS = (
    Binding("drift.x", "drift.work", "a.#"),
    Binding("drift.x", "drift.inner", "inner.#", to_exchange=True),
    Binding("drift.direct", CONSUMED, "consumed"),
    Binding("drift.direct", "drift.bound", "dead"),
    Binding("drift.later", "drift.bound", "later"),
    Binding("drift.inner", "drift.bound"),
    Binding("drift.internal", "drift.bound", "#"),
    Binding("drift.later.delay.5s", "drift.later.delay.5s"),
    Binding("drift.headers", "drift.by-headers", arguments={"x-match": "all", "kind": "one"}),
)
