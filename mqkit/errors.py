"""Every error that mqkit raises on purpose, in one tree.

* :exc:`MqkitError`
    * :exc:`ConfigurationError` - a setting or an argument can't be used; nothing was done
        * :exc:`TopologyError` - a topology file is wrong; carries file and line of every fault
    * :exc:`BrokerError` - the broker said no; carries reply code, scope, class id and method id
        * :exc:`ChannelError` - it closed the channel (soft errors of the spec: 311-406)
        * :exc:`ConnectionRefused` - it closed the connection, or would not open one (320-541)
    * :exc:`TransportError` - the network, not the broker
        * :exc:`ConnectionLost` - a connection that was open is gone
        * :exc:`Unreachable` - no AMQP broker answers at that address
            * :exc:`Unanswered` - and nobody there said a word: the broker is away
        * :exc:`StaleDelivery` - the delivery's channel is gone; the broker will deliver it again
    * :exc:`DeadlineExceeded` - the caller's time ran out; the message says what was waited for
    * :exc:`PoolExhausted` - every channel is lent and the wait was over; says who holds them
    * :exc:`RemoteError` - the handler that answered a call raised; says what
    * :exc:`CallRejected` - the broker refused the question of a call; says why
    * :exc:`Closed` - the object was closed by this program

What a *publish* came to is not an error: see :mod:`mqkit.outcome`.
What a *handler* wants done with its message is not one either: see :mod:`mqkit.retry`.
"""

from __future__ import annotations

from enum import StrEnum

from mqkit.outcome import Rejected


class MqkitError(Exception):
    """The base of everything that mqkit raises on purpose."""


class ConfigurationError(MqkitError):
    """A setting or an argument can't be used. Nothing was done; correct it and call again."""


class TopologyError(ConfigurationError):
    """A topology can't be used: every fault found is a line of the message.

    Raised before anything is declared.
    """


class Scope(StrEnum):
    """The reach of a broker's error: the channel or the connection that it closes (AMQP 0-9-1,
    section 1.2 "reply codes")."""

    CHANNEL = "channel"
    CONNECTION = "connection"


class BrokerError(MqkitError):
    """The broker refused something.

    ``reply_code`` and ``reply_text`` are the broker's own; ``class_id`` and ``method_id`` name
    the method it refused (both 0 where it named none).
    """

    scope: Scope

    def __init__(
        self, reply_code: int, reply_text: str, class_id: int = 0, method_id: int = 0
    ) -> None:
        super().__init__(f"{reply_code} {reply_text}")
        self.reply_code = reply_code
        self.reply_text = reply_text
        self.class_id = class_id
        self.method_id = method_id

    def __reduce__(self) -> tuple[type[BrokerError], tuple[int, str, int, int]]:
        """Errors cross processes (a Spark task's goes to the driver); ``args`` is not enough."""
        return type(self), (self.reply_code, self.reply_text, self.class_id, self.method_id)


class ChannelError(BrokerError):
    """The broker closed the channel. The connection and its other channels go on."""

    scope = Scope.CHANNEL


class ConnectionRefused(BrokerError):
    """The broker closed the connection, or would not open it (bad login, unknown vhost)."""

    scope = Scope.CONNECTION


class TransportError(MqkitError):
    """The network failed, not the broker. The supervisor connects again by itself."""


class ConnectionLost(TransportError):
    """A connection that was open is gone; what was unconfirmed on it is in doubt."""


class Unreachable(TransportError):
    """No broker answered at the address; the message names host and port, never the password."""


class Unanswered(Unreachable):
    """The connection could not be made, or was closed before the other side said a word: the broker
    is down, or a proxy is there whose broker is away. A peer that has said something, if only that
    it does not like a certificate, is :exc:`Unreachable` alone."""


class StaleDelivery(TransportError):
    """The delivery came on a channel that is gone: the broker will deliver it again."""


class DeadlineExceeded(MqkitError, TimeoutError):
    """The caller's deadline passed. The message says what was being waited for."""


class PoolExhausted(MqkitError):
    """No channel came free in time. The message says where the lent ones were taken."""


class Closed(MqkitError):
    """The object was closed by this program; make a new one."""


class RemoteError(MqkitError):
    """The handler that a call went to has raised: ``error_type`` is the name of the class that it
    raised, ``text`` what it said. The handler has run, and the question is not retried."""

    def __init__(self, error_type: str, text: str) -> None:
        super().__init__(f"{error_type}: {text}" if text else error_type)
        self.error_type = error_type
        self.text = text

    def __reduce__(self) -> tuple[type[RemoteError], tuple[str, str]]:
        return type(self), (self.error_type, self.text)


class CallRejected(MqkitError):
    """The broker refused the question of a call: ``rejected`` says why, and whether asking again
    can help (see :class:`~mqkit.outcome.Rejected`)."""

    def __init__(self, rejected: Rejected) -> None:
        detail = f": {rejected.detail}" if rejected.detail else ""
        super().__init__(f"the question was rejected as {rejected.reason}{detail}")
        self.rejected = rejected

    def __reduce__(self) -> tuple[type[CallRejected], tuple[Rejected]]:
        return type(self), (self.rejected,)
