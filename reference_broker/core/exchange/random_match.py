"""x-random: each message goes through one of the bindings, whichever (RabbitMQ's plugin
rabbitmq_random_exchange). Keys of bindings and messages do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_broker.core.base.splitmix import Draws, hash_of
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.matcher import BindingOrder
from reference_broker.core.message.message_headers import MessageHeaders


class RandomMatcher:
    """The bindings of one random exchange. Two exchanges of different names draw differently."""

    __slots__ = ("_bindings", "_draws")
    by_key_alone = False
    looked = 0

    def __init__(self, exchange_name: str) -> None:
        self._bindings = BindingOrder()
        self._draws = Draws(hash_of(exchange_name.encode(errors="surrogateescape")))

    def add(self, binding: Binding) -> None:
        self._bindings.add(binding)

    def remove(self, binding: Binding) -> None:
        self._bindings.remove(binding)

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> list[Binding]:
        """One binding, drawn anew at each call; none where nothing is bound."""
        bindings = self._bindings.all()
        return [bindings[self._draws.below(len(bindings))]] if bindings else []
