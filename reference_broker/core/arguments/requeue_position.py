"""Requeue positions: the place of a message that comes back. RabbitMQ knows ``original`` only.

    x-requeue-position         original   at its place: before everything that was published later
                               front      before all that is ready, behind what went there before
                               back       behind all that is ready
    x-requeue-lower-priority   so many priority levels lower, with ``back`` only
    x-requeue-delay            not before so many ms have passed, with ``back`` only

Arguments of queue.declare, and of basic.consume for what that consumer gives back. One that goes
anywhere but to its original place is moved (:mod:`returns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

from mqkit.wire import table_type_name
from reference_broker.errors import ChannelException, ReplyCode

POSITION = "x-requeue-position"
LOWER_PRIORITY = "x-requeue-lower-priority"
DELAY = "x-requeue-delay"

LOWER_PRIORITY_MAX = 255
"""There are no more levels."""

DELAY_MS_MAX = 86_400_000
"""A day. What is to wait longer belongs into a delayed exchange, where it can be seen."""


class RequeuePosition(StrEnum):
    """``x-requeue-position``."""

    ORIGINAL = "original"
    FRONT = "front"
    BACK = "back"


class RequeueRule(NamedTuple):
    """The requeue position and delay that a queue, or a consumer, asked for."""

    position: RequeuePosition = RequeuePosition.ORIGINAL
    lower_priority: int = 0
    delay_ms: int = 0

    @classmethod
    def parse(cls, arguments: Mapping[str, Any], where: str) -> RequeueRule:
        """The rule in the arguments of queue.declare or basic.consume; ``where`` names the queue.

        Raises :exc:`ChannelException` 406 for a wrong value, and for what asks for ``back`` without
        saying so.
        """
        name = arguments.get(POSITION, RequeuePosition.ORIGINAL.value)
        if not isinstance(name, str):
            _refuse(POSITION, where, f"{{unacceptable_type,{table_type_name(name)}}}")
        if name not in list(RequeuePosition):
            _refuse(POSITION, where, "invalid_requeue_position")
        rule = cls(
            RequeuePosition(name),
            _number(arguments, LOWER_PRIORITY, LOWER_PRIORITY_MAX, where),
            _number(arguments, DELAY, DELAY_MS_MAX, where),
        )
        if rule.position is not RequeuePosition.BACK:
            for argument, value in ((LOWER_PRIORITY, rule.lower_priority), (DELAY, rule.delay_ms)):
                if value:
                    _refuse(argument, where, "requeue_position_is_not_back")
        return rule


AT_ITS_PLACE = RequeueRule()


def _number(arguments: Mapping[str, Any], name: str, largest: int, where: str) -> int:
    value = arguments.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(name, where, f'"expected integer, got {table_type_name(value)}"')
    if value < 0:
        _refuse(name, where, f"{{value_negative,{value}}}")
    if value > largest:
        _refuse(name, where, f"{{value_too_large,{value}}}")
    return value


def _refuse(name: str, where: str, why: str) -> NoReturn:
    raise ChannelException(
        ReplyCode.PRECONDITION_FAILED, f"invalid arg '{name}' for {where}: {why}"
    )
