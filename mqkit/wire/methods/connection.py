"""Methods of the connection class: login, tuning, closing; RabbitMQ's own too.

Fields stand in wire order: the layout is compiled from them (:mod:`mqkit.wire.method_codec`). What
may be a password is in no repr.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from mqkit.wire.domain import Bit, Long, LongStr, Octet, Short, ShortStr, Table
from mqkit.wire.methods.method import Method
from mqkit.wire.spec import ClassId


class ConnectionMethod(Method):
    """A method of the connection class."""

    __slots__ = ()

    CLASS_ID = ClassId.CONNECTION


@dataclass(slots=True)
class ConnectionStart(ConnectionMethod):
    """Server: its properties, and how one may log in.

    ``mechanisms`` and ``locales`` are lists separated by spaces.
    """

    METHOD_ID = 10
    NAME = "connection.start"

    version_major: Octet = 0
    version_minor: Octet = 9
    server_properties: Table = field(default_factory=dict)
    mechanisms: LongStr = b"PLAIN"
    locales: LongStr = b"en_US"


@dataclass(slots=True)
class ConnectionStartOk(ConnectionMethod):
    """Client: its properties, and the login."""

    METHOD_ID = 11
    NAME = "connection.start-ok"

    client_properties: Table = field(default_factory=dict)
    mechanism: ShortStr = "PLAIN"
    response: LongStr = field(default=b"", repr=False)
    locale: ShortStr = "en_US"


@dataclass(slots=True)
class ConnectionSecure(ConnectionMethod):
    """Server: a SASL challenge."""

    METHOD_ID = 20
    NAME = "connection.secure"

    challenge: LongStr = b""


@dataclass(slots=True)
class ConnectionSecureOk(ConnectionMethod):
    """Client: the answer to a SASL challenge."""

    METHOD_ID = 21
    NAME = "connection.secure-ok"

    response: LongStr = field(default=b"", repr=False)


@dataclass(slots=True)
class ConnectionTune(ConnectionMethod):
    """Server: its limits. 0 means "no limit" for the first two and "none" for ``heartbeat``."""

    METHOD_ID = 30
    NAME = "connection.tune"

    channel_max: Short = 0
    frame_max: Long = 0
    heartbeat: Short = 0


@dataclass(slots=True)
class ConnectionTuneOk(ConnectionMethod):
    """Client: the limits that hold from now on."""

    METHOD_ID = 31
    NAME = "connection.tune-ok"

    channel_max: Short = 0
    frame_max: Long = 0
    heartbeat: Short = 0


@dataclass(slots=True)
class ConnectionOpen(ConnectionMethod):
    """Client: the virtual host to work in."""

    METHOD_ID = 40
    NAME = "connection.open"

    virtual_host: ShortStr = "/"
    reserved_1: ClassVar[ShortStr] = ""
    reserved_2: ClassVar[Bit] = False


@dataclass(slots=True)
class ConnectionOpenOk(ConnectionMethod):
    """Server: the connection is open."""

    METHOD_ID = 41
    NAME = "connection.open-ok"

    reserved_1: ClassVar[ShortStr] = ""


@dataclass(slots=True)
class ConnectionClose(ConnectionMethod):
    """Either: the connection ends. The ids name the method at fault, 0 if there is none."""

    METHOD_ID = 50
    NAME = "connection.close"

    reply_code: Short = 200
    reply_text: ShortStr = ""
    class_id: Short = 0
    method_id: Short = 0


@dataclass(slots=True)
class ConnectionCloseOk(ConnectionMethod):
    """Either: agreed; close the socket."""

    METHOD_ID = 51
    NAME = "connection.close-ok"


@dataclass(slots=True)
class ConnectionBlocked(ConnectionMethod):
    """Server: it reads no more publishes until connection.unblocked (RabbitMQ)."""

    METHOD_ID = 60
    NAME = "connection.blocked"

    reason: ShortStr = ""


@dataclass(slots=True)
class ConnectionUnblocked(ConnectionMethod):
    """Server: publishes are read again (RabbitMQ)."""

    METHOD_ID = 61
    NAME = "connection.unblocked"


@dataclass(slots=True)
class ConnectionUpdateSecret(ConnectionMethod):
    """Client: a new token in place of the one it logged in with (RabbitMQ)."""

    METHOD_ID = 70
    NAME = "connection.update-secret"

    new_secret: LongStr = field(default=b"", repr=False)
    reason: ShortStr = ""


@dataclass(slots=True)
class ConnectionUpdateSecretOk(ConnectionMethod):
    """Server: the new secret is taken (RabbitMQ)."""

    METHOD_ID = 71
    NAME = "connection.update-secret-ok"
