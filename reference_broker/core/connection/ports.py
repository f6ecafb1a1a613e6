"""Protocols of what a connection may ask of its broker: the whole of what runs upwards here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from reference_broker.core.channel.ports import ChannelBroker

if TYPE_CHECKING:
    from reference_broker.core.access.access_control import AccessControl
    from reference_broker.core.access.login_attempts import LoginAttempts
    from reference_broker.core.access.users import UserStore
    from reference_broker.core.base.deadlines import Deadline
    from reference_broker.core.base.moment import Moment
    from reference_broker.core.connection.connection import Connection
    from reference_broker.core.vhost.vhost import VHost


class ConnectionAlarms(Protocol):
    """The resource alarms, as connections see them."""

    sounding: bool
    """True while any alarm is on."""

    def check(self, connection: Connection) -> None:
        """Block the connection if it has published and an alarm is on."""
        ...

    def block(self, connection: Connection) -> None:
        """Block the connection: an alarm is on, and it is about to publish."""
        ...


class ReceivedBytes(Protocol):
    """The memory watermark, as connections see it."""

    def received(self, size: int) -> None:
        """Count ``size`` octets that a client sent, once they are handled."""
        ...


class ConnectionBroker(ChannelBroker, Protocol):
    """A broker, as its connections see it."""

    version: str
    node_name: str
    mechanisms: frozenset[str]
    """Names of the SASL mechanisms that clients may log in with."""
    users: UserStore
    access: AccessControl
    login_attempts: LoginAttempts
    moment: Moment
    dirty_connections: list[Connection]
    """Connections that the shell is to look at; a connection appends itself."""

    @property
    def vhosts(self) -> Mapping[str, VHost]:
        """The virtual hosts, by name."""
        ...

    @property
    def connections(self) -> Mapping[int, Connection]:
        """The connections that are not closed, by id."""
        ...

    @property
    def alarms(self) -> ConnectionAlarms:
        """The resource alarms."""
        ...

    @property
    def memory(self) -> ReceivedBytes:
        """The memory watermark."""
        ...

    def begin(self, now: float, wall_ms: int) -> None:
        """Begin an input that came at these times: monotonic seconds, and wall clock."""
        ...

    def finish(self) -> None:
        """End the input: call it once for each :meth:`begin`."""
        ...

    def after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        """Run ``callback`` in the first tick after ``delay_s`` from now."""
        ...

    def opened(self, connection: Connection) -> None:
        """Count a connection that has chosen its virtual host: its handshake is over."""
        ...

    def forget(self, connection: Connection) -> None:
        """Drop a connection that is closed. Idempotent."""
        ...
