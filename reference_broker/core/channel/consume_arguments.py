"""The arguments of basic.consume, checked in RabbitMQ's order and words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from mqkit.wire import table_type_name
from reference_broker.core.arguments.requeue_position import AT_ITS_PLACE, RequeueRule
from reference_broker.core.queue.weighted_ring import WEIGHT_MAX
from reference_broker.errors import ChannelException, ReplyCode

_STREAM_OFFSET = "x-stream-offset"


class ConsumeArguments(NamedTuple):
    """The arguments of one consumer. ``timeout_ms`` is ``None`` where the queue's, or the broker's,
    is to hold."""

    priority: int = 0
    weight: int = 1
    timeout_ms: int | None = None
    requeue: RequeueRule = AT_ITS_PLACE

    @classmethod
    def parse(cls, arguments: Mapping[str, Any], where: str, module: str) -> ConsumeArguments:
        """``where`` names the queue, ``module`` is what RabbitMQ calls its type.

        Raises :exc:`ChannelException` 406 for the first mistake. Unknown arguments are ignored.
        """
        if not arguments:
            return _NONE
        priority = _integer(arguments, "x-priority", 0, where)
        failover = arguments.get("x-cancel-on-ha-failover", False)
        if not isinstance(failover, bool):
            _refuse(
                "x-cancel-on-ha-failover",
                where,
                f": {{unacceptable_type,{table_type_name(failover)}}}",
            )
        if _STREAM_OFFSET in arguments:
            _refuse(_STREAM_OFFSET, where, f" of queue type {module}")
        timeout_ms = None
        if "x-consumer-timeout" in arguments:
            timeout_ms = _positive(arguments, "x-consumer-timeout", where)
        weight = 1
        if "x-weight" in arguments:
            weight = _positive(arguments, "x-weight", where)
            if weight > WEIGHT_MAX:
                _refuse("x-weight", where, f": {{value_too_large,{weight}}}")
        return cls(priority, weight, timeout_ms, RequeueRule.parse(arguments, where))


_NONE = ConsumeArguments()


def _integer(arguments: Mapping[str, Any], name: str, default: int, where: str) -> int:
    value = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(name, where, f': "expected integer, got {table_type_name(value)}"')
    return value


def _positive(arguments: Mapping[str, Any], name: str, where: str) -> int:
    value = _integer(arguments, name, 0, where)
    if value == 0:
        _refuse(name, where, ": {value_zero,0}")
    if value < 0:
        _refuse(name, where, f": {{value_negative,{value}}}")
    return value


def _refuse(name: str, where: str, why: str) -> NoReturn:
    raise ChannelException(ReplyCode.PRECONDITION_FAILED, f"invalid arg '{name}' for {where}{why}")
