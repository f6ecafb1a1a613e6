"""The output of a connection: the pieces that wait for its socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mqkit.wire import method_frame
from reference_broker.core.base.limits import DELIVERY_OUTPUT_BYTES_MAX, FRAME_SIZE_BEFORE_TUNE
from reference_broker.core.message.content_frames import append_content

if TYPE_CHECKING:
    from mqkit.wire.methods import Method
    from reference_broker.core.connection.connection import Connection
    from reference_broker.core.connection.heartbeat import Heartbeat
    from reference_broker.core.connection.ports import ConnectionBroker
    from reference_broker.core.message.content import Content
    from reference_broker.core.message.content_frames import Piece


class ConnectionOutput:
    """The output half of a :class:`~reference_broker.core.connection.connection.Connection`, and
    its base class: consumers write here for each message.

    ``output`` are the pieces that wait to be sent, ``output_size`` their bytes; ``delivery_limit``
    is the bound above which consumers get nothing (0 while the socket takes no more). ``starved``:
    consumers or requests wait until it takes more.
    """

    def __init__(self, broker: ConnectionBroker) -> None:
        self.broker = broker
        self.frame_max = FRAME_SIZE_BEFORE_TUNE
        self.heartbeat: Heartbeat | None = None
        self.output: list[Piece] = []
        self.output_size = 0
        self.delivery_limit = DELIVERY_OUTPUT_BYTES_MAX
        self.starved = False
        self.dirty = False
        self.sent_bytes = 0

    def pause_writing(self) -> None:
        """Give consumers no more, as the socket takes none for now: the output stays here until
        ``resume_writing``."""
        self.delivery_limit = 0

    def write(self, data: bytes) -> None:
        """Append to the output; the shell is told that there is some."""
        self.output.append(data)
        self.output_size += len(data)
        self.mark_dirty()

    def write_content(self, number: int, method: bytes, content: Content) -> None:
        """Append a method of channel ``number``, given as its frame's payload, and a message."""
        self.output_size += append_content(
            self.output, number, method, content.header, content.body, self.frame_max
        )
        self.mark_dirty()

    def send(self, method: Method) -> None:
        """Append a method on channel 0."""
        self.write(method_frame(0, method))

    def mark_dirty(self) -> None:
        """Have the shell look at output, ``wants_reading`` and ``closed``. Idempotent."""
        if not self.dirty:
            self.dirty = True
            self.broker.dirty_connections.append(cast("Connection", self))

    def take_output(self) -> list[Piece]:
        """The pieces to send, in order; they are the shell's now.

        Where consumers or requests were ``starved`` by a bound on waiting bytes, and the socket
        still takes more, the shell's next call is ``resume_writing``.
        """
        output, self.output = self.output, []
        self.sent_bytes += self.output_size
        self.output_size = 0
        if output and self.heartbeat is not None:
            self.heartbeat.sent = True
        return output
