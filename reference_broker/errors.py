"""Every error of the broker, in one tree.

* :exc:`ReferenceBrokerError`
    * :exc:`AmqpError` - a peer did something that the protocol answers with a close; carries the
      reply code, the scope, and the class and method id of what was refused
        * :exc:`ChannelException` - closes the channel (the "soft errors" of the spec)
        * :exc:`ConnectionException` - closes the connection (the "hard errors")
            * :exc:`FrameException` - no method is to blame: what came is not one
    * :exc:`StoreError` - the data folder can't be used or can't be trusted
        * :exc:`DataDirectoryLocked` - another process has it
        * :exc:`DiskFailed` - a write or fdatasync failed: nothing may be confirmed after this
        * :exc:`Corrupt` - a record that had been synced can't be read any more
        * :exc:`LaterVersion` - a later version wrote what this one doesn't know
    * :exc:`LinkError` - another node sent what no link between nodes carries, or may not be linked
    * :exc:`BadConfiguration` - an option or a config file can't be used
    * :exc:`ClusterRefused` - the node can't be one of the cluster that it was told to join
    * :exc:`AddressUnavailable` - a listener can't have the address that it is configured for

Mistakes of our own code are assertions, never one of these.
"""

from __future__ import annotations

from enum import StrEnum

from mqkit.wire import ReplyCode as ReplyCode


class Scope(StrEnum):
    """The part of a connection that an :exc:`AmqpError` closes."""

    CHANNEL = "channel"
    CONNECTION = "connection"


class ReferenceBrokerError(Exception):
    """The base of everything that the broker raises on purpose."""


class AmqpError(ReferenceBrokerError):
    """A peer's mistake, to be answered with channel.close or connection.close.

    ``text`` is what follows the code's name, as RabbitMQ words it:
    ``AmqpError(ReplyCode.NOT_FOUND, "no queue 'q' in vhost '/'")`` is sent as
    ``404 NOT_FOUND - no queue 'q' in vhost '/'``. ``class_id`` and ``method_id`` are filled in by
    the channel that was handling the method.
    """

    scope: Scope

    def __init__(self, code: ReplyCode, text: str, class_id: int = 0, method_id: int = 0) -> None:
        super().__init__(f"{code.name} - {text}")
        self.code = code
        self.text = text
        self.class_id = class_id
        self.method_id = method_id

    @property
    def reply_text(self) -> str:
        """The text on the wire. A shortstr holds 255 bytes: a longer text is cut, as RabbitMQ does,
        to 252 and three dots."""
        text = f"{self.code.name} - {self.text}"
        octets = text.encode(errors="surrogateescape")  # a routing key may be in it
        if len(octets) > 255:
            return octets[:252].decode(errors="ignore") + "..."
        return octets.decode(errors="replace")


class ChannelException(AmqpError):
    """Closes the channel; the connection's other channels go on."""

    scope = Scope.CHANNEL


class ConnectionException(AmqpError):
    """Closes the whole connection."""

    scope = Scope.CONNECTION


class NotAgreed(ConnectionException):
    """The other nodes of the cluster can't be asked for a change, or whether it was made is not
    known. The same request later may be answered."""


class FrameException(ConnectionException):
    """Closes the connection for octets that are no frame, no text, or no frame that may come here.
    Class and method id stay 0, whatever was being handled."""


class StoreError(ReferenceBrokerError):
    """The data folder can't be used or can't be trusted."""


class DataDirectoryLocked(StoreError):
    """Another process holds the data folder. Stop it, or use another folder."""


class DiskFailed(StoreError):
    """A write or an fdatasync failed. The process nacks what it has not confirmed, and exits."""


class Corrupt(StoreError):
    """A record that had been synced can't be read any more; it was quarantined and counted."""


class LaterVersion(StoreError):
    """The data folder has records of a kind that this version doesn't know. Start the version that
    wrote them, or restore a backup."""


class LinkError(ReferenceBrokerError):
    """Another node, or whoever has its address, broke the rules of a link, or may not have one. The
    link ends, and the message is one line for the log of either end."""


class BadConfiguration(ReferenceBrokerError):
    """An option or a config file can't be used; the message says which line and what it wanted."""


class ClusterRefused(ReferenceBrokerError):
    """The node can't be one of the cluster: another secret, a name that is taken, a folder that is
    not this node's. The message says what to do; trying again does not help."""


class NoSuchMember(ReferenceBrokerError):
    """The cluster has no node of that name."""


class MemberStays(ReferenceBrokerError):
    """A node can't be forgotten as it is; the message says what to do."""


class AddressUnavailable(ReferenceBrokerError):
    """A listener can't have its address; the message says which option names another one."""
