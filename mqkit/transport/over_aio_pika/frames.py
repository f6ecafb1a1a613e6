"""One channel number on an aiormq connection: frames out, answers and contents in.

aiormq does the connection: socket, handshake, heartbeats, framing. Its channel class can't be used
here: it finds the publish of a return by its message id (two in flight with the same one get a
false ack), forgets why a channel was closed, starts a task for each delivery, and cancels callers
whom nobody cancelled. So this object takes the channel's place in ``connection.channels``, which
is public, and hears every frame of its number. Only public attributes are touched: ``channels``,
``write_queue`` and ``connection_tune``.

Laws: what was handed to :meth:`FrameChannel.enqueue` is written once and in order, even if the
caller is cancelled, unless the connection dies first. A method that wants an answer is sent when
the one before it has had its own. A channel that is closed stays closed and knows why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import Enum, auto
from typing import Any, Protocol, TypeAlias, cast

from aiormq import spec
from aiormq.abc import AbstractChannel, AbstractConnection, ChannelFrame
from pamqp.base import Frame
from pamqp.body import ContentBody
from pamqp.header import ContentHeader

from mqkit.errors import Closed, ConfigurationError, MqkitError
from mqkit.transport.over_aio_pika.content import Assembly
from mqkit.transport.over_aio_pika.errors import channel_error
from mqkit.wire import EncodeError, method_frame, methods
from mqkit.wire.methods import Method

CLOSE_TIMEOUT_S = 5.0
"""The time that a peer has to answer a close: it has nothing to do but answer."""

CHANNEL_MAX = 65535
FRAME_OCTETS_MAX = 131072
"""RabbitMQ's offer; used where a broker says "no limit" (0)."""

ReceivedFrame: TypeAlias = Frame | ContentHeader | ContentBody

_CONTENT_METHODS = (spec.Basic.Deliver, spec.Basic.Return, spec.Basic.GetOk)
_EVENTS = (spec.Basic.Ack, spec.Basic.Nack, spec.Basic.Cancel)


class State(Enum):
    """A channel's life; it only ever moves down this list."""

    OPEN = auto()
    CLOSING = auto()
    """``channel.close`` was sent; answers still come until ``close-ok``."""
    CLOSED = auto()


class Listener(Protocol):
    """The receiver of frames that the broker sends without being asked. No method may raise."""

    def event_received(self, frame: Frame) -> None: ...
    def content_received(self, content: Assembly) -> None: ...
    def channel_closed(self, error: MqkitError | None) -> None: ...


class FrameChannel:
    """Open one with :meth:`open`; it is registered with the connection until closed."""

    def __init__(self, connection: AbstractConnection, listener: Listener) -> None:
        self._connection = connection
        self._listener = listener
        self.frames = self  # aiormq's reader does `await channel.frames.put(...)`
        self.number = self._register()
        self.state = State.OPEN
        self.error: MqkitError = Closed("the channel was closed by this program")
        self.frame_octets_max = connection.connection_tune.frame_max or FRAME_OCTETS_MAX
        self.write_lock = asyncio.Lock()
        self._rpc_lock = asyncio.Lock()
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reply: asyncio.Future[Frame | Assembly] | None = None
        self._assembly: Assembly | None = None
        self._drain: asyncio.Future[None] | None = None
        self._pending_put: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()

    async def open(self, *, confirms: bool) -> None:
        """``channel.open``, and ``confirm.select`` if asked."""
        await self.rpc(methods.ChannelOpen())
        if confirms:
            await self.rpc(methods.ConfirmSelect())

    # -- out ---------------------------------------------------------------------------------

    async def rpc(self, request: Method) -> Any:
        """Send a method and return its answer: a frame, or the content of ``basic.get-ok``.

        Raises :attr:`error` when the channel is closed, or gets closed instead of answered, and
        :exc:`~mqkit.errors.ConfigurationError`, with nothing sent, when an argument can't be
        encoded. Cancelling the wait closes the channel.
        """
        octets = self._encoded(request)
        async with self._rpc_lock:
            async with self.write_lock:
                self.raise_if_closed()
                self._reply = reply = asyncio.get_running_loop().create_future()
                try:
                    await self.enqueue(octets)
                except asyncio.CancelledError:
                    self._abandon()
                    raise
            try:
                return await reply
            except asyncio.CancelledError:
                self._abandon()
                raise

    async def send(self, method: Method) -> None:
        """Send a method that has no answer. Raises :attr:`error` when the channel is closed."""
        async with self.write_lock:
            self.raise_if_closed()
            await self.enqueue(method_frame(self.number, method))

    def send_soon(self, method: Method) -> None:
        """Send an answer to the broker from where nothing can be awaited."""
        self._in_background(self._send_always(method))

    def _encoded(self, method: Method) -> bytes:
        try:
            octets = method_frame(self.number, method)
        except EncodeError as error:
            raise ConfigurationError(f"AMQP can't carry this: {error}") from None
        if len(octets) > self.frame_octets_max:
            raise ConfigurationError(
                f"AMQP can't carry this: {method.NAME} takes {len(octets)} octets, and the broker"
                f" allows {self.frame_octets_max} in a frame"
            )
        return octets

    async def enqueue(self, octets: bytes) -> None:
        """Hand whole frames to the connection's writer; hold :attr:`write_lock` around it."""
        if self._pending_put is not None:
            await self._unless_gone(self._pending_put)
            self._pending_put = None
        self._drain = asyncio.get_running_loop().create_future()
        item = ChannelFrame(payload=octets, should_close=False, drain_future=self._drain)
        try:
            self._connection.write_queue.put_nowait(item)
        except asyncio.QueueFull:
            self._pending_put = asyncio.create_task(self._connection.write_queue.put(item))
            await self._unless_gone(self._pending_put)

    async def drained(self) -> None:
        """Return when the socket has room again after what was enqueued last."""
        if self._drain is not None and not self._drain.done():
            await self._unless_gone(self._drain)

    async def _unless_gone(self, awaited: asyncio.Future[None]) -> None:
        await asyncio.wait((awaited, self._gone), return_when=asyncio.FIRST_COMPLETED)

    def raise_if_closed(self) -> None:
        if self.state is not State.OPEN:
            raise self.error

    # -- in ----------------------------------------------------------------------------------

    async def put(self, item: tuple[int, ReceivedFrame]) -> None:
        """Called by aiormq's reader with each frame of this channel, in order."""
        self._receive(item[1])

    def _receive(self, frame: ReceivedFrame) -> None:
        if isinstance(frame, ContentBody):
            if self._assembly is not None and self._assembly.add_body(frame.value):
                self._content_complete(self._assembly)
        elif isinstance(frame, ContentHeader):
            if self._assembly is not None and self._assembly.add_header(frame):
                self._content_complete(self._assembly)
        elif isinstance(frame, _CONTENT_METHODS):
            self._assembly = Assembly(frame)
        elif isinstance(frame, _EVENTS):
            self._listener.event_received(frame)
        elif isinstance(frame, spec.Channel.Close):
            self._closed_by_broker(frame)
        elif isinstance(frame, spec.Channel.CloseOk):
            self.finish(None)
        else:
            self._answer(frame)

    def _content_complete(self, content: Assembly) -> None:
        self._assembly = None
        if isinstance(content.method, spec.Basic.GetOk):
            self._answer(content)
        else:
            self._listener.content_received(content)

    def _answer(self, answer: Frame | Assembly) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(answer)

    # -- the end -----------------------------------------------------------------------------

    async def close(self) -> None:
        """Close in order and return when the broker has answered, or did not in time."""
        if self.state is State.OPEN:
            self.state = State.CLOSING
            await self._send_always(methods.ChannelClose(reply_code=200))
        await asyncio.wait((self._gone,), timeout=CLOSE_TIMEOUT_S)
        self.finish(None)

    def finish(self, error: MqkitError | None, *, connection_gone: bool = False) -> None:
        """The channel is closed: tell everybody who waits. Only the first call counts."""
        if self.state is State.CLOSED:
            return
        self.state = State.CLOSED
        if error is not None:
            self.error = error
        if connection_gone and self._pending_put is not None:
            self._pending_put.cancel()
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(self.error)
        self._gone.set_result(None)
        self._listener.channel_closed(error)

    def _closed_by_broker(self, frame: spec.Channel.Close) -> None:
        # aiormq has freed the number; keep it until close-ok is on its way, so that no new channel
        # of this number gets in front of it.
        self._connection.channels[self.number] = cast(AbstractChannel, self)
        if self.state is State.CLOSING:  # the two closes crossed; close-ok for ours will come too
            self.send_soon(methods.ChannelCloseOk())
            return
        self._in_background(self._acknowledge_close())
        self.finish(channel_error(frame))

    async def _acknowledge_close(self) -> None:
        await self._send_always(methods.ChannelCloseOk())
        self._connection.channels.pop(self.number, None)

    async def _send_always(self, method: Method) -> None:
        async with self.write_lock:
            await self.enqueue(method_frame(self.number, method))

    def _abandon(self) -> None:
        if self.state is State.OPEN:
            self._in_background(self.close())

    def _in_background(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _register(self) -> int:
        channels = self._connection.channels
        for number in range(1, (self._connection.connection_tune.channel_max or CHANNEL_MAX) + 1):
            if number not in channels:
                channels[number] = cast(AbstractChannel, self)
                return number
        raise Closed(f"all {len(channels)} channels of the connection are in use")
