"""An exchange: its properties, its bindings, and which of them a message goes through.

What a type decides is in its matcher; all else is the same for every type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

from reference_broker.core.binding import Binding, BindingIdentity
from reference_broker.core.headers_match import HeadersMatcher
from reference_broker.core.matcher import DirectMatcher, FanoutMatcher, Matcher, MessageHeaders
from reference_broker.core.policy import NO_POLICIES, AppliedPolicies
from reference_broker.core.topic_trie import TopicTrie

ALTERNATE_EXCHANGE = "alternate-exchange"

DEFAULT_EXCHANGE = ""
"""The exchange without a name: it routes to the queue that the routing key names."""


class ExchangeType(StrEnum):
    """The types that the broker has."""

    DIRECT = "direct"
    FANOUT = "fanout"
    TOPIC = "topic"
    HEADERS = "headers"


_MATCHERS: dict[ExchangeType, Callable[[], Matcher]] = {
    ExchangeType.DIRECT: DirectMatcher,
    ExchangeType.FANOUT: FanoutMatcher,
    ExchangeType.TOPIC: TopicTrie,
    ExchangeType.HEADERS: HeadersMatcher,
}


class Exchange:
    """One exchange of a virtual host. ``bindings`` are those *from* it, oldest first; only
    :meth:`add` and :meth:`remove` change them.

    ``downstream`` counts the bindings to each exchange that it is bound to. ``alternate`` is what
    the arguments and ``policies`` say (see :mod:`policy_effect`).
    """

    __slots__ = (
        "_matcher",
        "alternate",
        "arguments",
        "auto_delete",
        "bindings",
        "downstream",
        "durable",
        "internal",
        "name",
        "policies",
        "type",
    )

    def __init__(
        self,
        name: str,
        type: ExchangeType,
        *,
        durable: bool = True,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.durable = durable
        self.auto_delete = auto_delete
        self.internal = internal
        self.arguments = dict(arguments or {})
        self.alternate: str | None = self.arguments.get(ALTERNATE_EXCHANGE)
        self.policies: AppliedPolicies = NO_POLICIES
        self.bindings: dict[BindingIdentity, Binding] = {}
        self.downstream: dict[str, int] = {}
        self._matcher = _MATCHERS[type]()

    def __repr__(self) -> str:
        return f"<Exchange {self.name!r} {self.type} bindings={len(self.bindings)}>"

    def add(self, binding: Binding) -> None:
        """``binding`` must not be here yet, and its arguments must suit the type."""
        assert binding.identity not in self.bindings
        self._matcher.add(binding)
        self.bindings[binding.identity] = binding
        if not binding.destination_is_queue:
            self.downstream[binding.destination] = self.downstream.get(binding.destination, 0) + 1

    def remove(self, binding: Binding) -> None:
        """``binding`` must be here."""
        del self.bindings[binding.identity]
        self._matcher.remove(binding)
        if not binding.destination_is_queue:
            self.downstream[binding.destination] -= 1
            if not self.downstream[binding.destination]:
                del self.downstream[binding.destination]

    def match(self, routing_key: str, headers: MessageHeaders) -> Iterable[Binding]:
        """The bindings that a message goes through, each once. Raises what ``headers`` raises."""
        return self._matcher.match(routing_key, headers)


def predeclared_exchanges() -> list[Exchange]:
    """The exchanges that every virtual host has, new ones each time (spec section 3.1.3)."""
    return [
        Exchange(DEFAULT_EXCHANGE, ExchangeType.DIRECT),
        Exchange("amq.direct", ExchangeType.DIRECT),
        Exchange("amq.fanout", ExchangeType.FANOUT),
        Exchange("amq.headers", ExchangeType.HEADERS),
        Exchange("amq.match", ExchangeType.HEADERS),
        Exchange("amq.rabbitmq.trace", ExchangeType.TOPIC, internal=True),
        Exchange("amq.topic", ExchangeType.TOPIC),
    ]
