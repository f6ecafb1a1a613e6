"""The headers exchange: a binding's arguments against a message's header table.

``x-match`` says how: ``all`` (the default) and ``any`` leave out every argument whose name begins
with ``x-``; ``all-with-x`` and ``any-with-x`` leave out ``x-match`` only. An argument without a
value (void) wants the header to be there, whatever it is. Source: RabbitMQ 4's
rabbit_exchange_type_headers; its comparison of values is :func:`comparable`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from mqkit.wire import table_type_name
from reference_broker.core.base.field_value import comparable, erlang_term
from reference_broker.core.exchange.binding import Binding, BindingIdentity
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.errors import ChannelException, ReplyCode

X_MATCH = "x-match"
_EXTENSION_PREFIX = "x-"


class HeadersMatch(StrEnum):
    """The values of ``x-match``."""

    ALL = "all"
    ANY = "any"
    ALL_WITH_X = "all-with-x"
    ANY_WITH_X = "any-with-x"


class HeadersPattern:
    """One binding's arguments, taken apart once and not for every message."""

    __slots__ = ("_combine", "_present", "_wanted")

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        mode = HeadersMatch(arguments.get(X_MATCH, HeadersMatch.ALL))
        with_x = mode in (HeadersMatch.ALL_WITH_X, HeadersMatch.ANY_WITH_X)
        is_all = mode in (HeadersMatch.ALL, HeadersMatch.ALL_WITH_X)
        self._combine: Callable[..., bool] = all if is_all else any
        self._present: list[str] = []
        self._wanted: list[tuple[str, Hashable]] = []
        for name, value in arguments.items():
            if name == X_MATCH or (name.startswith(_EXTENSION_PREFIX) and not with_x):
                continue
            if value is None:
                self._present.append(name)
            else:
                self._wanted.append((name, comparable(value)))

    def matches(self, headers: Mapping[str, Hashable]) -> bool:
        """``headers``: every header of the message, its value made :func:`comparable`."""
        checks = [name in headers for name in self._present]
        checks += [headers.get(name) == value for name, value in self._wanted]
        return self._combine(checks)


class HeadersMatcher:
    """The bindings of one headers exchange, tried one after the other."""

    __slots__ = ("_bindings",)
    by_key_alone = False

    def __init__(self) -> None:
        self._bindings: dict[BindingIdentity, tuple[HeadersPattern, Binding]] = {}

    def add(self, binding: Binding) -> None:
        """``binding`` must have passed :func:`check_x_match`."""
        self._bindings[binding.identity] = (HeadersPattern(binding.arguments), binding)

    def remove(self, binding: Binding) -> None:
        """``binding`` must be here."""
        del self._bindings[binding.identity]

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> list[Binding]:
        """The bindings that a message with these headers goes through, oldest first. Raises what
        ``headers`` raises."""
        values = {name: comparable(value) for name, value in headers().items()}
        return [binding for pattern, binding in self._bindings.values() if pattern.matches(values)]


def check_x_match(arguments: Mapping[str, Any]) -> None:
    """Raises :exc:`ChannelException` 406 where ``x-match`` is none of :class:`HeadersMatch`."""
    if X_MATCH not in arguments:
        return
    value = arguments[X_MATCH]
    if not isinstance(value, str):
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"Invalid x-match field type {table_type_name(value)}"
            f" (value {erlang_term(value)}); expected longstr",
        )
    if value not in list(HeadersMatch):
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED,
            f"Invalid x-match field value {erlang_term(value)};"
            " expected all, any, all-with-x, or any-with-x",
        )
