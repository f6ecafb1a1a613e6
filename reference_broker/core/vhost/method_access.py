"""Permission checks of AMQP methods, in RabbitMQ's order and words.

One :class:`Access` for a user in a virtual host: a connection has one, a request over HTTP makes
one. Each ``require_`` raises :exc:`ChannelException` 403, or nothing happens. What was granted is
remembered until somebody's permissions change, so that a consumer or a repeated basic.get costs one
look-up; a publish remembers it with its route
(:mod:`~reference_broker.core.channel.publish_target`) and costs none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from reference_broker.core.access.permission import Action
from reference_broker.core.base.names import Kind, cleaned, described
from reference_broker.core.base.pattern import BadPattern
from reference_broker.core.exchange.exchange import (
    ALTERNATE_EXCHANGE,
    DEFAULT_EXCHANGE,
    Exchange,
    ExchangeType,
)
from reference_broker.errors import ChannelException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.access.access_control import AccessControl
    from reference_broker.core.vhost.vhost import VHost

GRANTED_MAX = 1_024
"""Checks that one connection remembers."""

GRANTED_BYTES = 200
"""Accounted for each of them, beside the name."""

DEFAULT_EXCHANGE_NAME = "amq.default"
"""The name of the exchange without a name, for patterns and in texts."""

_DEAD_LETTER_EXCHANGE = "x-dead-letter-exchange"


class DeclareAccess(Protocol):
    """The permissions that a declaration asks for: a name may be known only then, and arguments
    count for new objects."""

    def require(self, action: Action, kind: Kind, name: str) -> None:
        """Raise unless the object may be configured, written to or read from."""
        ...

    def require_dead_lettering(self, queue: str, arguments: Mapping[str, Any]) -> None:
        """Raise unless a new queue's dead letters may go where its arguments say."""
        ...

    def require_alternate(self, exchange: str, arguments: Mapping[str, Any]) -> None:
        """Raise unless a new exchange's unroutable messages may go where its arguments say."""
        ...


class _Unrestricted:
    """The access of the broker's own management: everything is granted."""

    def require(self, action: Action, kind: Kind, name: str) -> None:
        """Granted."""

    def require_dead_lettering(self, queue: str, arguments: Mapping[str, Any]) -> None:
        """Granted."""

    def require_alternate(self, exchange: str, arguments: Mapping[str, Any]) -> None:
        """Granted."""


UNRESTRICTED: DeclareAccess = _Unrestricted()


class Access:
    """The permissions of one user in one virtual host."""

    __slots__ = ("_control", "_granted", "_user", "_version", "_vhost", "held_bytes")

    def __init__(self, control: AccessControl, user: str, vhost: str) -> None:
        self._control = control
        self._user = user
        self._vhost = vhost
        self._granted: dict[tuple[Action, Kind, str], None] = {}
        self._version = control.version
        self.held_bytes = 0
        """Accounted bytes of the checks that are remembered."""

    # One object

    def require(self, action: Action, kind: Kind, name: str) -> None:
        """``name`` is as the client gave it; whether there is such an object doesn't matter."""
        if not self._granted_before((action, kind, name)):
            self._require(action, kind, name, cleaned(name))

    def _granted_before(self, key: tuple[Action, Kind, str]) -> bool:
        return self._version == self._control.version and key in self._granted

    def _require(self, action: Action, kind: Kind, name: str, shown: str) -> None:
        if kind == "exchange" and shown == DEFAULT_EXCHANGE:
            shown = DEFAULT_EXCHANGE_NAME
        permission = self._control.permission(self._user, self._vhost)
        if permission is None or not permission.allows(action, shown):
            raise self._refused(f"access to {described(kind, shown, self._vhost)}")
        self._remember((action, kind, name))

    def _remember(self, key: tuple[Action, Kind, str]) -> None:
        if self._version != self._control.version or len(self._granted) >= GRANTED_MAX:
            self._granted.clear()
            self.held_bytes = 0
            self._version = self._control.version
        self._granted[key] = None
        self.held_bytes += GRANTED_BYTES + len(key[2])

    def require_topic(self, action: Action, exchange: Exchange, key: str) -> None:
        """Raise unless ``key`` may be written to, or bound to (read from), a topic exchange."""
        if exchange.type is not ExchangeType.TOPIC:
            return
        topics = self._control.topic_permission(self._user, self._vhost, exchange.name)
        if topics is None:
            return
        try:
            allowed = topics.pattern(action, self._user, self._vhost).matches(key)
        except BadPattern:
            allowed = False
        if not allowed:
            raise self._refused(
                f"access to topic '{key}' in {described('exchange', exchange.name, self._vhost)}"
            )

    # Methods that ask for more than one thing

    def require_publish(self, exchange: str) -> None:
        """Raise unless the user may publish to the exchange. To be called before that is looked
        for."""
        if not self._granted_before((Action.WRITE, "exchange", exchange)):
            # It is looked for as it is, and need not be text.
            self._require(Action.WRITE, "exchange", exchange, exchange)

    def require_binding(
        self, vhost: VHost, source: str, destination: str, key: str, *, to_queue: bool
    ) -> None:
        """Raise unless the user may bind and unbind these ends. To be called before either is
        looked for. The default exchange is refused in other words, by whoever looks for it."""
        source = cleaned(source)
        if DEFAULT_EXCHANGE in (source, None if to_queue else cleaned(destination)):
            return
        self.require(Action.WRITE, "queue" if to_queue else "exchange", destination)
        self.require(Action.READ, "exchange", source)
        exchange = vhost.exchanges.get(source)
        if exchange is not None:
            self.require_topic(Action.READ, exchange, key)

    def require_dead_lettering(self, queue: str, arguments: Mapping[str, Any]) -> None:
        target = arguments.get(_DEAD_LETTER_EXCHANGE)
        if isinstance(target, str):
            self.require(Action.READ, "queue", queue)
            self.require(Action.WRITE, "exchange", target)

    def require_alternate(self, exchange: str, arguments: Mapping[str, Any]) -> None:
        target = arguments.get(ALTERNATE_EXCHANGE)
        if isinstance(target, str):
            self.require(Action.READ, "exchange", exchange)
            self.require(Action.WRITE, "exchange", target)

    def _refused(self, what: str) -> ChannelException:
        return ChannelException(ReplyCode.ACCESS_REFUSED, f"{what} refused for user '{self._user}'")
