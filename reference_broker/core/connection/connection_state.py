"""The states of a connection, and the one table of how it goes from one to the next.

client                                   broker
AMQP 0 0 9 1        AWAIT_HEADER  ->     connection.start
connection.start-ok STARTING
                    SECURING      ->     connection.tune, once the password is checked
connection.tune-ok  TUNING
connection.open     OPENING       ->     connection.open-ok
...                 OPEN                 ...
connection.close    LEAVING       ->     connection.close-ok; the client closes the socket
connection.close-ok CLOSING       <-     connection.close, when the broker ends it
"""

from __future__ import annotations

from enum import Enum, unique

from reference_broker.core.base.transitions import TransitionTable


@unique
class ConnectionState(Enum):
    """The states of a connection. The value is RabbitMQ's name of the state, as its HTTP API shows
    it."""

    AWAIT_HEADER = "pre_init"
    STARTING = "starting"
    SECURING = "securing"
    TUNING = "tuning"
    OPENING = "opening"
    OPEN = "running"
    CLOSING = "closing"
    LEAVING = "closed"
    CLOSED = "gone"


@unique
class ConnectionEvent(Enum):
    """The events that move a connection from one state to the next."""

    HEADER = "the client's protocol header is ours"
    START_OK = "the client gave name and password"
    LOGGED_IN = "they were checked, and are right"
    TUNE_OK = "the client accepted the limits"
    OPEN = "the client chose a virtual host"
    CLOSE = "the client closes: close-ok was sent, and the socket is the client's to close"
    FAIL = "the broker closes: connection.close was sent, and close-ok is awaited"
    CLOSE_OK = "the client has seen the broker's connection.close"
    DROP = "the broker ends it without waiting for an answer"
    LOST = "the socket is gone"


_S = ConnectionState
_E = ConnectionEvent

CONNECTION_TRANSITIONS: TransitionTable[ConnectionState, ConnectionEvent] = TransitionTable(
    {
        (_S.AWAIT_HEADER, _E.HEADER): _S.STARTING,
        (_S.AWAIT_HEADER, _E.DROP): _S.CLOSED,
        (_S.AWAIT_HEADER, _E.LOST): _S.CLOSED,
        (_S.STARTING, _E.START_OK): _S.SECURING,
        (_S.STARTING, _E.CLOSE): _S.LEAVING,
        (_S.STARTING, _E.FAIL): _S.CLOSING,
        (_S.STARTING, _E.DROP): _S.CLOSED,
        (_S.STARTING, _E.LOST): _S.CLOSED,
        (_S.SECURING, _E.LOGGED_IN): _S.TUNING,
        (_S.SECURING, _E.FAIL): _S.CLOSING,
        (_S.SECURING, _E.DROP): _S.CLOSED,
        (_S.SECURING, _E.LOST): _S.CLOSED,
        (_S.TUNING, _E.TUNE_OK): _S.OPENING,
        (_S.TUNING, _E.CLOSE): _S.LEAVING,
        (_S.TUNING, _E.FAIL): _S.CLOSING,
        (_S.TUNING, _E.DROP): _S.CLOSED,
        (_S.TUNING, _E.LOST): _S.CLOSED,
        (_S.OPENING, _E.OPEN): _S.OPEN,
        (_S.OPENING, _E.CLOSE): _S.LEAVING,
        (_S.OPENING, _E.FAIL): _S.CLOSING,
        (_S.OPENING, _E.DROP): _S.CLOSED,
        (_S.OPENING, _E.LOST): _S.CLOSED,
        (_S.OPEN, _E.CLOSE): _S.LEAVING,
        (_S.OPEN, _E.FAIL): _S.CLOSING,
        (_S.OPEN, _E.DROP): _S.CLOSED,
        (_S.OPEN, _E.LOST): _S.CLOSED,
        (_S.CLOSING, _E.CLOSE): _S.LEAVING,
        (_S.CLOSING, _E.CLOSE_OK): _S.CLOSED,
        (_S.CLOSING, _E.DROP): _S.CLOSED,
        (_S.CLOSING, _E.LOST): _S.CLOSED,
        (_S.LEAVING, _E.CLOSE_OK): _S.CLOSED,
        (_S.LEAVING, _E.DROP): _S.CLOSED,
        (_S.LEAVING, _E.LOST): _S.CLOSED,
        (_S.CLOSED, _E.LOST): _S.CLOSED,
    }
)
