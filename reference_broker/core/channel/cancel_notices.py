"""Consumers that the broker has ended, of which a client is told behind the -ok that it waits for.

Clients rely on that order where they have deleted the queue themselves. Who cancels such a consumer
before it is told has its cancel-ok, and hears no more: the tag may be another consumer's by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mqkit.wire.methods import BasicCancel
from reference_broker.core.channel.channel_state import ChannelState

if TYPE_CHECKING:
    from mqkit.wire.methods import Method


class NoticeChannel(Protocol):
    """The channel that is told."""

    state: ChannelState

    def reply(self, method: Method) -> None:
        """Send a method now."""
        ...


class CancelNotices:
    """The notices of one channel that were not sent yet, by consumer tag."""

    __slots__ = ("_channel", "_tags", "are_held")

    def __init__(self, channel: NoticeChannel) -> None:
        self.are_held = False
        """Kept until :meth:`release`; else each is sent when its promise is kept."""
        self._channel = channel
        self._tags: dict[str, None] = {}

    def add(self, tag: str) -> CancelNotice:
        """Tell of the consumer when the notice's promise is kept; or, where they are held, when
        they are released."""
        self._tags[tag] = None
        return CancelNotice(self, tag)

    def drop(self, tag: str) -> None:
        """The client has cancelled it. Does nothing where there is no notice of it."""
        self._tags.pop(tag, None)

    def release(self) -> None:
        """Send all."""
        self.are_held = False
        for tag in list(self._tags):
            self.send(tag)

    def send(self, tag: str) -> None:
        """Send that one, if it is still to be sent, and the channel is there."""
        if tag in self._tags:
            del self._tags[tag]
            if self._channel.state in (ChannelState.OPEN, ChannelState.SUSPENDED):
                self._channel.reply(BasicCancel(consumer_tag=tag, nowait=True))


class CancelNotice:
    """The promise to send one."""

    __slots__ = ("_notices", "_tag")

    def __init__(self, notices: CancelNotices, tag: str) -> None:
        self._notices = notices
        self._tag = tag

    def kept(self) -> None:
        self._notices.send(self._tag)

    def broken(self) -> None:
        """Say nothing: the reply that the channel waits for fails, too."""
