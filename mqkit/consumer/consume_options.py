"""The options of ``basic.consume``: prefetch, exclusive, and the arguments; and in words the
refusal of a queue that has an exclusive consumer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqkit.errors import ChannelError, ConfigurationError

PRIORITY = "x-priority"
PRIORITY_MIN, PRIORITY_MAX = -(2**31), 2**31 - 1
"""A consumer's priority is a number of 32 bits with a sign."""

_ACCESS_REFUSED = 403
_IN_EXCLUSIVE_USE = "in exclusive use"
"""RabbitMQ's words, by which this refusal is told from a missing permission: both are 403."""


@dataclass(frozen=True, slots=True)
class ConsumeOptions:
    """The options of one consumer. ``prefetch`` is the number of messages that it may have
    unsettled; ``exclusive`` refuses all other consumers of the queue; with ``no_ack`` messages are
    settled when they are sent. ``tag`` is the consumer's name at the broker, where it is to have
    one of its own."""

    prefetch: int
    exclusive: bool = False
    arguments: Mapping[str, object] = field(default_factory=dict)
    no_ack: bool = False
    tag: str = ""

    @classmethod
    def of(
        cls,
        prefetch: int,
        *,
        priority: int | None = None,
        exclusive: bool = False,
        arguments: Mapping[str, object] | None = None,
    ) -> ConsumeOptions:
        """The options that a program asks for; ``priority`` is the argument ``x-priority``.

        Raises :exc:`~mqkit.errors.ConfigurationError` for a priority that is given twice or is no
        number of 32 bits, and for arguments that AMQP can't carry.
        """
        if not isinstance(exclusive, bool):
            raise ConfigurationError(f"exclusive={exclusive!r}: expected True or False")
        if arguments is not None and not isinstance(arguments, Mapping):
            raise ConfigurationError(
                f"arguments={arguments!r}: expected the consume arguments by name,"
                ' {"x-priority": 10}'
            )
        chosen = dict(arguments or {})
        if priority is not None:
            if PRIORITY in chosen:
                raise ConfigurationError(
                    f'the priority is given twice: priority= and arguments={{"{PRIORITY}": ...}}'
                )
            chosen[PRIORITY] = priority
        _check_priority(chosen.get(PRIORITY, 0))
        _check_table(chosen)
        return cls(prefetch, exclusive, chosen)


def in_words(error: ChannelError, queue: str, *, exclusive: bool) -> ChannelError:
    """``error``, which answered a ``basic.consume`` on ``queue``; with its cause in words where the
    queue has, or is asked to have, an exclusive consumer."""
    text = error.reply_text
    if error.reply_code != _ACCESS_REFUSED or _IN_EXCLUSIVE_USE not in text:
        return error
    why = (
        f"{queue} has a consumer already, and an exclusive one must be the only one"
        if exclusive
        else f"another program consumes {queue} exclusively"
    )
    return ChannelError(error.reply_code, f"{text}: {why}", error.class_id, error.method_id)


def _check_priority(priority: object) -> None:
    if (
        isinstance(priority, bool)
        or not isinstance(priority, int)
        or not PRIORITY_MIN <= priority <= PRIORITY_MAX
    ):
        raise ConfigurationError(
            f"priority={priority!r}: expected a whole number, {PRIORITY_MIN} to {PRIORITY_MAX}"
        )


def _check_table(arguments: Mapping[str, object]) -> None:
    if not arguments:
        return
    from mqkit.wire import EncodeError, encode_table  # which most programs load with the transport

    for name, value in arguments.items():
        if not isinstance(name, str):
            raise ConfigurationError(f"the consume argument {name!r} has a name that is not text")
        try:
            encode_table({name: value})
        except EncodeError as error:
            raise ConfigurationError(
                f"AMQP can't carry the consume argument {name!r}: {error}"
            ) from None
