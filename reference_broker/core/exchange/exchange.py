"""An exchange: its properties, its bindings, and which of them a message goes through.

What a type decides is in its matcher; all else is the same for every type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from reference_broker.core.exchange.binding import Binding, BindingIdentity
from reference_broker.core.exchange.hash_match import (
    ConsistentHashMatcher,
    HashSource,
    ModulusHashMatcher,
)
from reference_broker.core.exchange.headers_match import HeadersMatcher
from reference_broker.core.exchange.matcher import DirectMatcher, FanoutMatcher, Matcher
from reference_broker.core.exchange.random_match import RandomMatcher
from reference_broker.core.exchange.topic_trie import TopicTrie
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.core.policy.policy import NO_POLICIES, AppliedPolicies

if TYPE_CHECKING:
    from reference_broker.core.exchange.deduplication_window import DeduplicationWindow
    from reference_broker.core.queue.queue import Queue

ALTERNATE_EXCHANGE = "alternate-exchange"
DELAYED_TYPE = "x-delayed-type"

DEFAULT_EXCHANGE = ""
"""The exchange without a name: it routes to the queue that the routing key names."""


class ExchangeType(StrEnum):
    """The types that the broker has."""

    DIRECT = "direct"
    FANOUT = "fanout"
    TOPIC = "topic"
    HEADERS = "headers"
    CONSISTENT_HASH = "x-consistent-hash"
    MODULUS_HASH = "x-modulus-hash"
    RANDOM = "x-random"
    DELAYED = "x-delayed-message"
    DEDUPLICATION = "x-message-deduplication"


_MATCHERS: dict[ExchangeType, Callable[[str, Mapping[str, Any]], Matcher]] = {
    ExchangeType.DIRECT: lambda name, arguments: DirectMatcher(),
    ExchangeType.FANOUT: lambda name, arguments: FanoutMatcher(),
    ExchangeType.TOPIC: lambda name, arguments: TopicTrie(),
    ExchangeType.HEADERS: lambda name, arguments: HeadersMatcher(),
    ExchangeType.CONSISTENT_HASH: (
        lambda name, arguments: ConsistentHashMatcher(HashSource.of(arguments))
    ),
    ExchangeType.MODULUS_HASH: lambda name, arguments: ModulusHashMatcher(),
    ExchangeType.RANDOM: lambda name, arguments: RandomMatcher(name),
    ExchangeType.DEDUPLICATION: lambda name, arguments: FanoutMatcher(),
}


class Exchange:
    """One exchange of a virtual host. ``bindings`` are those *from* it, oldest first; only
    :meth:`add` and :meth:`remove` change them.

    ``downstream`` counts the bindings to each exchange that it is bound to. ``alternate`` is what
    the arguments and ``policies`` say (see :mod:`policy_effect`). ``routing_type`` is the type by
    which it matches: ``type``, or for a delayed exchange the one that it was declared with.
    ``delays`` is what a delayed exchange holds back, ``seen`` what one remembers that lets each
    message through once; the virtual host makes both. ``published`` counts the messages that came
    in from clients, ``routed`` the queues that each of them was routed to.
    """

    __slots__ = (
        "_matcher",
        "alternate",
        "arguments",
        "auto_delete",
        "bindings",
        "deduplication",
        "delays",
        "downstream",
        "durable",
        "internal",
        "name",
        "policies",
        "published",
        "routed",
        "routing_type",
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
        self.published = self.routed = 0
        self.delays: Queue | None = None
        self.deduplication: DeduplicationWindow | None = None
        self.routing_type = _routing_type(type, self.arguments)
        self._matcher = _MATCHERS[self.routing_type](name, self.arguments)

    def __repr__(self) -> str:
        return f"<Exchange {self.name!r} {self.type} bindings={len(self.bindings)}>"

    @property
    def routes_by_key(self) -> bool:
        """Messages with the same routing key go through the same bindings, while those are."""
        return self._matcher.by_key_alone and self.delays is None and self.deduplication is None

    @property
    def looked(self) -> int:
        """The looks that the last :meth:`match` has cost beside the bindings that it found."""
        return self._matcher.looked

    @property
    def nodes(self) -> int:
        """Nodes of the trie of a topic exchange."""
        return self._matcher.nodes if isinstance(self._matcher, TopicTrie) else 0

    def inner_queues(self) -> dict[str, Queue]:
        """The queues that are part of the exchange, by the kind of their definition."""
        inner = {}
        if self.delays is not None:
            inner["delayed"] = self.delays
        if self.deduplication is not None:
            inner["seen"] = self.deduplication.queue
        return inner

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

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> Collection[Binding]:
        """The bindings that a message goes through, each once. Raises what ``headers`` raises, and
        :exc:`ChannelException` 406 where a topic costs too much."""
        return self._matcher.match(routing_key, headers, more_keys)


def _routing_type(type: ExchangeType, arguments: Mapping[str, Any]) -> ExchangeType:
    """A delayed exchange whose arguments are bad is never more than compared with another."""
    if type is not ExchangeType.DELAYED:
        return type
    inner = arguments.get(DELAYED_TYPE)
    if isinstance(inner, str) and inner in _MATCHERS:
        return ExchangeType(inner)
    return ExchangeType.DIRECT


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
