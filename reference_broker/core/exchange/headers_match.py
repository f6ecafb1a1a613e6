"""The headers exchange: a binding's arguments against a message's header table.

``x-match`` says how: ``all`` (the default) and ``any`` leave out every argument whose name begins
with ``x-``; ``all-with-x`` and ``any-with-x`` leave out ``x-match`` only. An argument without a
value (void) wants the header to be there, whatever it is. Source: RabbitMQ 4's
rabbit_exchange_type_headers; its comparison of values is :func:`comparable`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from mqkit.wire import table_type_name
from reference_broker.core.base.field_value import comparable, erlang_term
from reference_broker.core.exchange.binding import Binding, BindingIdentity
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.errors import ChannelException, ReplyCode

X_MATCH = "x-match"
_EXTENSION_PREFIX = "x-"

LOOKS_MAX = 25_000
"""Patterns that one message may look at in vain: 0.5 to 1 us each, and nobody else is served
meanwhile. Only bindings made for it come near: each would want several headers of the message, none
of them rare among the bindings, and one more that it has not."""

_CHEAP_PER_LOOK = 16
"""Lookups of a condition, or of a pattern that was found before, at the price of one look."""


class HeadersMatch(StrEnum):
    """The values of ``x-match``."""

    ALL = "all"
    ANY = "any"
    ALL_WITH_X = "all-with-x"
    ANY_WITH_X = "any-with-x"


class HeadersPattern:
    """The conditions in one binding's arguments, with all bindings that ask for the same.

    ``wanted`` are conditions as :meth:`MessageHeaders.conditions` has them, and ``all_of`` the same
    as a set: all must be met, or one if the pattern ``is_any``. ``bindings`` are by their arrival,
    oldest first. ``place`` is the condition by which a pattern that wants all is found.
    """

    __slots__ = ("all_of", "bindings", "is_any", "place", "wanted")

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        mode = HeadersMatch(arguments.get(X_MATCH, HeadersMatch.ALL))
        with_x = mode in (HeadersMatch.ALL_WITH_X, HeadersMatch.ANY_WITH_X)
        self.is_any = mode in (HeadersMatch.ANY, HeadersMatch.ANY_WITH_X)
        self.wanted: dict[Hashable, None] = {}
        for name, value in arguments.items():
            if name == X_MATCH or (name.startswith(_EXTENSION_PREFIX) and not with_x):
                continue
            self.wanted[name if value is None else (name, comparable(value))] = None
        self.all_of = frozenset(self.wanted)
        self.bindings: dict[int, Binding] = {}
        self.place: Hashable = None

    @property
    def identity(self) -> Hashable:
        """Equal for patterns that ask for the same."""
        return self.is_any, self.all_of


_Index: TypeAlias = dict[Hashable, dict[HeadersPattern, None]]


class HeadersMatcher:
    """The bindings of one headers exchange, found by their conditions.

    A pattern that wants all its conditions stands under one of them only: the one that has the
    fewest patterns by then. One that wants any stands under each. So a match looks at patterns that
    have at least one condition in common with the message, and not at all bindings.
    """

    __slots__ = ("_all", "_any", "_any_count", "_arrivals", "_bound", "_patterns", "looked")
    by_key_alone = False

    def __init__(self) -> None:
        self._patterns: dict[Hashable, HeadersPattern] = {}
        self._bound: dict[BindingIdentity, tuple[HeadersPattern, int]] = {}
        self._arrivals = 0
        self._all: _Index = {}
        """Patterns without conditions stand under ``None``, which no header is."""
        self._any: _Index = {}
        self._any_count = 0
        self.looked = 0

    def add(self, binding: Binding) -> None:
        """``binding`` must have passed :func:`check_x_match`."""
        pattern = HeadersPattern(binding.arguments)
        known = self._patterns.setdefault(pattern.identity, pattern)
        if known is pattern:
            self._enter(pattern)
        self._arrivals += 1
        known.bindings[self._arrivals] = binding
        self._bound[binding.identity] = known, self._arrivals

    def remove(self, binding: Binding) -> None:
        """``binding`` must be here."""
        pattern, arrival = self._bound.pop(binding.identity)
        del pattern.bindings[arrival]
        if pattern.bindings:
            return
        del self._patterns[pattern.identity]
        if not pattern.is_any:
            _leave(self._all, pattern.place, pattern)
            return
        self._any_count -= 1
        for condition in pattern.wanted:
            _leave(self._any, condition, pattern)

    def _enter(self, pattern: HeadersPattern) -> None:
        if pattern.is_any:
            self._any_count += 1
            for condition in pattern.wanted:
                self._any.setdefault(condition, {})[pattern] = None
            return
        crowds = self._all
        if pattern.wanted:
            pattern.place = min(pattern.wanted, key=lambda each: len(crowds.get(each, ())))
        crowds.setdefault(pattern.place, {})[pattern] = None

    def match(
        self, routing_key: str, headers: MessageHeaders, more_keys: Sequence[str] = ()
    ) -> Collection[Binding]:
        """The bindings that a message with these headers goes through, oldest first. Raises what
        ``headers`` raises, and :exc:`ChannelException` 406 where that takes more looks in vain
        than ``LOOKS_MAX``."""
        met = headers.conditions()
        self.looked = 0
        found: list[HeadersPattern] = []
        if self._all:
            found += self._all_met(met, headers.every_condition)
        if self._any:
            found += self._any_met(met)
        if len(found) == 1:
            return found[0].bindings.values()
        bindings: dict[int, Binding] = {}
        for pattern in found:
            bindings.update(pattern.bindings)
        return [bindings[arrival] for arrival in sorted(bindings)]

    def _all_met(
        self, met: dict[Hashable, None], every: frozenset[Hashable]
    ) -> list[HeadersPattern]:
        index = self._all
        found = [*index[None]] if None in index else []
        for condition in self._in_common(index, met):
            patterns = index[condition]
            fitting = [pattern for pattern in patterns if pattern.all_of <= every]
            if len(fitting) < len(patterns):
                self._look(len(patterns) - len(fitting))
            found += fitting
        return found

    def _any_met(self, met: dict[Hashable, None]) -> dict[HeadersPattern, None]:
        found: dict[HeadersPattern, None] = {}
        for condition in self._in_common(self._any, met):
            if len(found) == self._any_count:
                break
            patterns = self._any[condition]
            known = len(found) + len(patterns)
            found.update(patterns)
            self._look((known - len(found)) // _CHEAP_PER_LOOK)
        return found

    def _in_common(self, index: _Index, met: dict[Hashable, None]) -> list[Hashable]:
        """The conditions that are met, by a walk over those of the bindings or those of the
        message, whichever are fewer."""
        if len(index) < len(met):
            self.looked += len(index) // _CHEAP_PER_LOOK
            return [condition for condition in index if condition in met]
        self.looked += len(met) // _CHEAP_PER_LOOK
        return [condition for condition in met if condition in index]

    def _look(self, count: int) -> None:
        self.looked += count
        if self.looked > LOOKS_MAX:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"invalid message: its headers nearly fit more than {LOOKS_MAX} bindings of a"
                " headers exchange",
            )


def _leave(index: _Index, condition: Hashable, pattern: HeadersPattern) -> None:
    patterns = index[condition]
    del patterns[pattern]
    if not patterns:
        del index[condition]


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
