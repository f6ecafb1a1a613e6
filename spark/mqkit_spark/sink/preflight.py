"""A look at the broker before the first row: what would fail in each task is said at once, where
the job is planned.

Executors may reach a broker that the driver can't: what the driver can't find out is a warning in
its log, and left to the tasks.
"""

from __future__ import annotations

from dataclasses import replace

from mqkit.declaration import Exchange
from mqkit.errors import (
    ChannelError,
    ConfigurationError,
    ConnectionRefused,
    DeadlineExceeded,
    TransportError,
)
from mqkit.transport.blocking import BlockingConnection
from mqkit_spark.connecting import connect
from mqkit_spark.options import SinkOptions
from mqkit_spark.sink import journal

CONNECT_TIMEOUT_MAX_S = 10.0
"""For each host: a driver behind a firewall shall not wait as long as a task does."""

NOT_FOUND = 404
LOGIN_REFUSED = frozenset({403, 530})
"""Reply codes for a login that the broker refuses, and for a vhost that it has not."""

_looked_at: set[tuple[object, ...]] = set()


def look_at_broker(options: SinkOptions) -> None:
    """Log in, and look for the exchanges that ``options`` name.

    Raises :exc:`~mqkit.errors.ConfigurationError` where the broker refuses the login or the vhost,
    or has no such exchange. Nothing is declared.
    """
    timeout_s = min(options.connect_timeout_s, CONNECT_TIMEOUT_MAX_S)
    try:
        connection = connect(replace(options, connect_timeout_s=timeout_s), name="mqkit-spark-plan")
        try:
            for option, exchange in _named(options):
                _look_for(connection, option, exchange)
        finally:
            connection.close()
    except ConnectionRefused as refused:
        if refused.reply_code in LOGIN_REFUSED:
            raise ConfigurationError(
                f"the broker refuses the user, the password or the vhost of the URL: {refused}"
            ) from None
        _leave_to_tasks(refused)
    except (TransportError, DeadlineExceeded) as error:
        _leave_to_tasks(error)


def look_at_broker_once(options: SinkOptions) -> None:
    """:func:`look_at_broker`, until it has once raised nothing in this process; for streams, whose
    writer is made anew for every batch."""
    key = (options.endpoints(), *_named(options))
    if key not in _looked_at:
        look_at_broker(options)
        _looked_at.clear()  # one query has its writers in a process; the set stays small
        _looked_at.add(key)


def _named(options: SinkOptions) -> list[tuple[str, str]]:
    """Exchanges and the options that name them; the default exchange is always there."""
    named = {"exchange": options.exchange, "deadLetterExchange": options.dead_letter_exchange}
    return [(option, exchange) for option, exchange in named.items() if exchange]


def _look_for(connection: BlockingConnection, option: str, exchange: str) -> None:
    channel = connection.channel()
    try:
        channel.declare_exchange(Exchange(exchange), passive=True)
        channel.close()
    except ChannelError as error:
        if error.reply_code != NOT_FOUND:
            return  # a broker may forbid to look, and yet let the job publish
        raise ConfigurationError(
            f"option {option}: the broker has no exchange {exchange!r} ({error}); declare it, for"
            " example with option topology"
        ) from None


def _leave_to_tasks(error: Exception) -> None:
    journal.warn(f"the driver can't look at the broker before the first row: {error}")
