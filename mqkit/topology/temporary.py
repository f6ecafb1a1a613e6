"""``Temporary``, a queue for this process alone: a cache that is told to forget, a page that
follows what happens. Each process has its own, and gets every message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

from mqkit.declaration import Binding, Queue
from mqkit.errors import ConfigurationError

ExchangeAndKey: TypeAlias = tuple[str, str] | tuple[str, str, Mapping[str, object]]
"""An exchange, a binding key, and for a headers exchange the arguments of the binding."""

SHORT_TEXT_OCTETS_MAX = 255
"""Names and keys of AMQP have a length of one octet."""

_NUMBERS = count(1)


class Temporary:
    """A queue that the broker names, that only this process may use, and that is gone with its
    connection. Give it to ``app.consumer`` in place of a queue's name.

    It is declared at each connect, under a fresh name, and bound to each exchange of ``bind``,
    which must be there. Messages that are published while there is no connection are not in it.
    ``arguments`` are those of ``queue.declare``, like ``{"x-max-length": 1000}``. Each object is a
    queue of its own.

    Raises :exc:`~mqkit.errors.ConfigurationError` for what can't be declared.
    """

    def __init__(
        self, bind: Sequence[ExchangeAndKey], *, arguments: Mapping[str, object] | None = None
    ) -> None:
        self.name = f"<temporary queue {next(_NUMBERS)}>"
        """The name that this process has for it, in logs and errors; the broker's is another."""
        if isinstance(bind, str | bytes) or not isinstance(bind, Sequence) or not bind:
            raise ConfigurationError(
                f"Temporary(bind={bind!r:.80}): expected at least one pair of exchange and binding"
                ' key, [("events", "cache.*")]'
            )
        self.bindings: tuple[Binding, ...] = tuple(self._binding(pair) for pair in bind)
        self.queue = Queue(
            "", durable=False, exclusive=True, arguments=_table("arguments", arguments or {})
        )

    def __repr__(self) -> str:
        bound = ", ".join(f"{binding.source!r}: {binding.key!r}" for binding in self.bindings)
        return f"Temporary({bound})"

    def _binding(self, pair: Any) -> Binding:
        if (
            isinstance(pair, str | bytes)
            or not isinstance(pair, Sequence)
            or len(pair) not in (2, 3)
        ):
            raise ConfigurationError(
                f"Temporary(bind=[... {pair!r:.80} ...]): expected an exchange and a binding key,"
                ' ("events", "cache.*"), and for a headers exchange the arguments as well'
            )
        exchange, key, *rest = pair
        if not exchange:
            raise ConfigurationError(
                "Temporary(bind=...): a queue can't be bound to the default exchange, which has no"
                " name"
            )
        arguments = _table("the arguments of a binding", rest[0]) if rest else {}
        return Binding(
            _short("an exchange", exchange),
            self.name,
            _short("a binding key", key),
            False,
            arguments,
        )


def _short(what: str, text: object) -> str:
    if not isinstance(text, str):
        raise ConfigurationError(f"Temporary(bind=...): {what} is text, not {text!r:.80}")
    if len(text.encode("utf-8", "surrogatepass")) > SHORT_TEXT_OCTETS_MAX:
        raise ConfigurationError(
            f"Temporary(bind=...): {what} has at most {SHORT_TEXT_OCTETS_MAX} octets, and"
            f" {text[:40]!r}... has more"
        )
    return text


def _table(what: str, arguments: object) -> dict[str, object]:
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        raise ConfigurationError(
            f"Temporary: {what}: expected values by name, not {arguments!r:.80}"
        )
    from mqkit.wire import EncodeError, encode_table  # which most programs load with the transport

    try:
        encode_table(arguments)
    except EncodeError as error:
        raise ConfigurationError(f"Temporary: AMQP can't carry {what}: {error}") from None
    return dict(arguments)
