"""The arguments of queue.declare, validated with RabbitMQ's own error texts.

Checked one after the other in RabbitMQ's order, so that a declaration with several mistakes is
refused for the same one. Unknown arguments are kept and ignored, as RabbitMQ does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from mqkit.wire import table_type_name
from reference_broker.core.arguments.queue_type import (
    QueueType,
    named_type,
    refuse_foreign_arguments,
)
from reference_broker.core.arguments.requeue_position import (
    AT_ITS_PLACE,
    DELAY,
    LOWER_PRIORITY,
    POSITION,
    RequeueRule,
)
from reference_broker.errors import ChannelException, ReplyCode

MAX_EXPIRY_MS = 315_360_000_000
"""Ten years: RabbitMQ's bound on every TTL and on x-expires (rabbit_misc:check_expiry)."""

MAX_PRIORITY = 255
"""``basic.properties.priority`` is an octet, so a queue can't have more levels."""


class Overflow(StrEnum):
    """The overflow behaviour of a queue at its length limit."""

    DROP_HEAD = "drop-head"
    REJECT_PUBLISH = "reject-publish"
    REJECT_PUBLISH_DLX = "reject-publish-dlx"


_ONCE_UNKNOWN = ("x-consumer-timeout", POSITION, LOWER_PRIORITY, DELAY)
"""Arguments of classic queues that the first version of this broker kept and ignored."""


@dataclass(frozen=True, slots=True)
class QueueArguments:
    """The arguments of a queue, parsed. ``None`` means "not given", for a bound "unlimited".

    ``max_priority`` 0 is a queue without levels. The two ``max_length`` bounds count ready
    messages and their body bytes only, never unacked ones (rabbitmq.com/docs/maxlength).
    ``delivery_limit`` is how many failed deliveries a message of a quorum queue survives, where not
    given 20, and where negative any number; ``consumer_timeout_ms`` is how long a consumer may hold
    one, and ``requeue`` where what comes back goes.
    """

    message_ttl_ms: int | None = None
    expires_ms: int | None = None
    max_length: int | None = None
    max_length_bytes: int | None = None
    overflow: Overflow = Overflow.DROP_HEAD
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None
    max_priority: int = 0
    single_active_consumer: bool = False
    queue_type: QueueType = QueueType.CLASSIC
    delivery_limit: int | None = None
    consumer_timeout_ms: int | None = None
    requeue: RequeueRule = AT_ITS_PLACE

    @classmethod
    def parse(
        cls, arguments: Mapping[str, Any], queue_name: str, vhost_name: str
    ) -> QueueArguments:
        """Validate the arguments of a declaration.

        Raises :exc:`ChannelException` 406 with RabbitMQ's text for the first mistake. Nothing is
        kept of unknown arguments; the queue holds the table as it came.
        """
        check = _Check(arguments, f"queue '{queue_name}' in vhost '{vhost_name}'")
        exchange = check.dead_letter_exchange()
        queue_type = check.queue_type()
        parsed = cls(
            expires_ms=check.expiry("x-expires", zero_allowed=False),
            message_ttl_ms=check.expiry("x-message-ttl", zero_allowed=True),
            dead_letter_exchange=exchange,
            dead_letter_routing_key=check.dead_letter_routing_key(),
            max_length=check.not_negative("x-max-length"),
            max_length_bytes=check.not_negative("x-max-length-bytes"),
            max_priority=check.max_priority(),
            overflow=check.overflow(),
            single_active_consumer=check.storage_and_single_active_consumer(),
            queue_type=queue_type,
            delivery_limit=check.delivery_limit(),
            consumer_timeout_ms=check.positive("x-consumer-timeout"),
            requeue=RequeueRule.parse(arguments, check.where),
        )
        check.replication()
        refuse_foreign_arguments(queue_type, arguments, check.where)
        return parsed


def parse_stored(arguments: Mapping[str, Any], queue_name: str, vhost_name: str) -> QueueArguments:
    """:meth:`QueueArguments.parse` of a queue that the log has. What an earlier version took
    without looking at it counts as not given where it is wrong: the queue must still be there."""
    try:
        return QueueArguments.parse(arguments, queue_name, vhost_name)
    except ChannelException:
        known = {name: arguments[name] for name in arguments if name not in _ONCE_UNKNOWN}
        return QueueArguments.parse(known, queue_name, vhost_name)


class _Check:
    """The checks of one declaration; each raises with RabbitMQ's text, or gives the value."""

    def __init__(self, arguments: Mapping[str, Any], where: str) -> None:
        self._arguments = arguments
        self.where = where

    def dead_letter_exchange(self) -> str | None:
        name = "x-dead-letter-exchange"
        if name not in self._arguments:
            return None
        value = self._arguments[name]
        if not isinstance(value, str):
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"invalid type '{table_type_name(value)}' for arg '{name}' in {self.where}",
            )
        return value

    def queue_type(self) -> QueueType:
        value = self._text("x-queue-type")
        if value is None:
            return QueueType.CLASSIC
        queue_type = named_type(value)
        if queue_type is None:
            self._refuse("x-queue-type", f"\"unsupported queue type '{value}'\"")
        return queue_type

    def expiry(self, name: str, *, zero_allowed: bool) -> int | None:
        value = self.not_negative(name)
        if value is None:
            return None
        if value == 0 and not zero_allowed:
            self._refuse(name, "{value_zero,0}")
        if value > MAX_EXPIRY_MS:
            self._refuse(name, f"{{value_too_large,{value}}}")
        return value

    def dead_letter_routing_key(self) -> str | None:
        name = "x-dead-letter-routing-key"
        value = self._text(name)
        if value is not None and "x-dead-letter-exchange" not in self._arguments:
            self._refuse(name, "routing_key_but_no_dlx_defined")
        return value

    def not_negative(self, name: str) -> int | None:
        value = self._integer(name)
        if value is not None and value < 0:
            self._refuse(name, f"{{value_negative,{value}}}")
        return value

    def _integer(self, name: str) -> int | None:
        if name not in self._arguments:
            return None
        value = self._arguments[name]
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse(name, f'"expected integer, got {table_type_name(value)}"')
        return value

    def max_priority(self) -> int:
        value = self.not_negative("x-max-priority") or 0
        if value > MAX_PRIORITY:
            self._refuse("x-max-priority", f"{{max_value_exceeded,{value}}}")
        return value

    def overflow(self) -> Overflow:
        value = self._text("x-overflow")
        if value is None:
            return Overflow.DROP_HEAD
        if value not in list(Overflow):
            self._refuse("x-overflow", "invalid_overflow")
        return Overflow(value)

    def storage_and_single_active_consumer(self) -> bool:
        mode = self._text("x-queue-mode")
        if mode not in (None, "default", "lazy"):
            self._refuse("x-queue-mode", f"\"unsupported queue mode '{mode}'\"")
        version = self.not_negative("x-queue-version")
        if version not in (None, 1, 2):
            self._refuse("x-queue-version", f"\"unsupported queue version '{version}'\"")
        value = self._arguments.get("x-single-active-consumer", False)
        if not isinstance(value, bool):
            self._refuse(
                "x-single-active-consumer", f"{{unacceptable_type,{table_type_name(value)}}}"
            )
        return value

    def delivery_limit(self) -> int | None:
        return self._integer("x-delivery-limit")

    def positive(self, name: str) -> int | None:
        value = self.not_negative(name)
        if value == 0:
            self._refuse(name, "{value_zero,0}")
        return value

    def replication(self) -> None:
        """Check the arguments that spread a quorum queue over a cluster; they have no effect."""
        self._one_of(
            "x-dead-letter-strategy", ("at-most-once", "at-least-once"), "invalid_dlx_strategy"
        )
        self.not_negative("x-max-in-memory-length")
        self.not_negative("x-max-in-memory-bytes")
        self.positive("x-quorum-initial-group-size")
        self._one_of(
            "x-queue-leader-locator",
            ("client-local", "balanced", "least-leaders", "random"),
            "invalid_queue_locator_arg",
        )

    def _one_of(self, name: str, values: tuple[str, ...], complaint: str) -> None:
        value = self._text(name)
        if value is not None and value not in values:
            self._refuse(name, complaint)

    def _text(self, name: str) -> str | None:
        if name not in self._arguments:
            return None
        value = self._arguments[name]
        if not isinstance(value, str):
            self._refuse(name, f"{{unacceptable_type,{table_type_name(value)}}}")
        return value

    def _refuse(self, name: str, why: str) -> NoReturn:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED, f"invalid arg '{name}' for {self.where}: {why}"
        )
