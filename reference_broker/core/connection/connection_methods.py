"""connection.*: each method that opens a connection, by the state in which it may come.

The sister of ``methods/``: the class that a client sends on channel 0. connection.close and its
answer come in any state, and are with the frames (:mod:`control_frames`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from mqkit.wire.methods import (
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStartOk,
    ConnectionTuneOk,
    ConnectionUpdateSecret,
    ConnectionUpdateSecretOk,
    Method,
)
from reference_broker.core.access import mechanisms
from reference_broker.core.access.login_attempts import LoginProtocol
from reference_broker.core.access.users import Refusal, User
from reference_broker.core.connection import admission, handshake
from reference_broker.core.connection.connection_state import ConnectionEvent, ConnectionState

if TYPE_CHECKING:
    from reference_broker.core.connection.connection import Connection


def begin_handshake(connection: Connection) -> None:
    """Send connection.start, as the protocol header was AMQP 0-9-1's."""
    connection.move(ConnectionEvent.HEADER)
    broker = connection.broker
    offered = mechanisms.offered(broker.mechanisms, connection.peer)
    connection.send(handshake.start(broker.version, offered))


def _start_ok(connection: Connection, method: ConnectionStartOk) -> None:
    broker = connection.broker
    connection.introduced(method.client_properties)
    mechanism, peer = method.mechanism, connection.peer
    mechanisms.require_enabled(mechanism, broker.mechanisms, peer)
    connection.auth_mechanism = mechanism
    if mechanism == mechanisms.EXTERNAL:
        connection.move(ConnectionEvent.START_OK)
        _login_checked(connection, broker.users.identify(peer))
        return
    login = mechanisms.credentials(mechanism, method.response)
    connection.move(ConnectionEvent.START_OK)
    if login is None:
        broker.login_attempts.note(LoginProtocol.AMQP, False)
        connection.refuse_login(None, f"{mechanism} login refused: its response can't be read")
        return
    name, password = login
    answer = partial(_login_checked, connection)
    broker.users.authenticate(name, password, peer, answer, partial(_waits, connection))


def _waits(connection: Connection) -> bool:
    return connection.state is ConnectionState.SECURING


def _login_checked(connection: Connection, login: User | Refusal) -> None:
    if connection.state is not ConnectionState.SECURING:
        return  # it ended while its password was checked
    attempts = connection.broker.login_attempts
    attempts.note(LoginProtocol.AMQP, isinstance(login, User))
    if isinstance(login, User):
        connection.secured(login)
    elif login is Refusal.BUSY:
        connection.drop(login.value)
    else:
        mechanism = connection.auth_mechanism
        reason = f"{mechanism} login refused: {login.value}"
        if mechanism == mechanisms.EXTERNAL and login is Refusal.WRONG:
            reason = f"{mechanism} login refused: no user {connection.peer.proven_name!r}"
        if login is Refusal.LOOPBACK_ONLY and connection.peer.proxy is not None:
            reason += ", and through no proxy"
        connection.refuse_login(handshake.login_refused(mechanism), reason)


def offer_limits(connection: Connection) -> None:
    """Send connection.tune, as the client has logged in."""
    connection.send(handshake.tune(connection.broker.limits))


def _tune_ok(connection: Connection, method: ConnectionTuneOk) -> None:
    tuned = handshake.negotiated(method, connection.broker.limits)
    connection.move(ConnectionEvent.TUNE_OK)
    connection.tuned(tuned)


def _open(connection: Connection, method: ConnectionOpen) -> None:
    vhost = admission.admitted(connection, method.virtual_host)
    connection.move(ConnectionEvent.OPEN)
    connection.opened(vhost)
    connection.send(ConnectionOpenOk())


def _update_secret(connection: Connection, method: ConnectionUpdateSecret) -> None:
    """Answer, and keep nothing: the method is for tokens that run out, and a password does not."""
    connection.send(ConnectionUpdateSecretOk())


CONNECTION_METHODS: dict[
    tuple[ConnectionState, type[Method]], Callable[[Connection, Any], None]
] = {
    (ConnectionState.STARTING, ConnectionStartOk): _start_ok,
    (ConnectionState.TUNING, ConnectionTuneOk): _tune_ok,
    (ConnectionState.OPENING, ConnectionOpen): _open,
    (ConnectionState.OPEN, ConnectionUpdateSecret): _update_secret,
}
"""The method that each state of a connection waits for, and its handler."""
