"""Admission of a connection to a virtual host, and of one more channel to a connection.

In RabbitMQ's order (rabbit_reader): the virtual host, its limit, the user's limit, the permission.
The users' and the virtual hosts' limits are counted over what is open: only who has a limit is
counted at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_broker.core.access import users
from reference_broker.core.base import vhost_info
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.errors import ConnectionException, ReplyCode

if TYPE_CHECKING:
    from reference_broker.core.access.users import User
    from reference_broker.core.connection.connection import Connection
    from reference_broker.core.connection.ports import ConnectionBroker
    from reference_broker.core.vhost.vhost import VHost


def admitted(connection: Connection, name: str) -> VHost:
    """The virtual host that the client of ``connection`` asks for with connection.open.

    Raises :exc:`ConnectionException` 530, or 320 for a user who was deleted meanwhile.
    """
    broker = connection.broker
    vhost = broker.vhosts.get(name)
    if vhost is None or vhost.is_leaving:
        raise _refused(f"vhost {name} not found")
    user = _user_of(connection)
    refused = f"access to vhost '{name}' refused for user '{user.name}'"
    most = vhost.info.limit(vhost_info.MAX_CONNECTIONS)
    if most is not None and _count(broker, vhost=vhost) >= most:
        raise _refused(f"{refused}: connection limit ({most}) is reached")
    most = user.limit(users.MAX_CONNECTIONS)
    if most is not None and _count(broker, user=user.name) >= most:
        raise _refused(
            f"connection refused for user '{user.name}': user connection limit ({most}) is reached"
        )
    if broker.access.permission(user.name, name) is None:
        raise _refused(refused)
    return vhost


def may_open_channel(connection: Connection) -> bool:
    """True when the connection, and its user on all connections, may open one more channel. If not,
    the connection is closed (530), without ids of class and method, as in RabbitMQ."""
    opened = len(connection.channels)
    if opened >= connection.channel_max:
        text = (
            f"number of channels opened ({opened}) has reached the negotiated"
            f" channel_max ({connection.channel_max})"
        )
        connection.fail(_refused(text))
        return False
    user = _user_of(connection)
    most = user.limit(users.MAX_CHANNELS)
    if most is None:
        return True
    if sum(len(each.channels) for each in _open(connection.broker, user=user.name)) >= most:
        text = (
            f"number of channels opened for user '{user.name}' has reached the maximum allowed"
            f" user limit of ({most})"
        )
        connection.fail(_refused(text))
        return False
    return True


def _user_of(connection: Connection) -> User:
    """The user as of now: limits may have changed since the login."""
    assert connection.user is not None
    user = connection.broker.users.get(connection.user.name)
    if user is None:
        raise ConnectionException(
            ReplyCode.CONNECTION_FORCED, f"user '{connection.user.name}' is deleted"
        )
    return user


def _count(broker: ConnectionBroker, *, vhost: VHost | None = None, user: str | None = None) -> int:
    return len(_open(broker, vhost=vhost, user=user))


def _open(
    broker: ConnectionBroker, *, vhost: VHost | None = None, user: str | None = None
) -> list[Connection]:
    return [
        connection
        for connection in broker.connections.values()
        if connection.state is ConnectionState.OPEN
        and (vhost is None or connection.vhost is vhost)
        and (user is None or connection.user_name == user)
    ]


def _refused(text: str) -> ConnectionException:
    return ConnectionException(ReplyCode.NOT_ALLOWED, text)
