"""A native connection, without I/O: bytes in, bytes out, and a clock that only ticks.

The shell around it does four things. It hands in what it read with :meth:`receive`, and writes what
:meth:`take_output` gives whenever ``on_output`` was called - not at once, but at the end of its
turn, so that whatever a turn writes goes out together. It calls :meth:`tick` every
:attr:`tick_s` seconds. And it says :meth:`lost` when the network ends; when :attr:`is_closed`, it
writes what is left and closes the socket.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mqkit.errors import Closed, ConnectionRefused, MqkitError
from mqkit.message import Properties
from mqkit.transitions import IllegalTransition
from mqkit.transport.heartbeat import Beat, Heartbeat
from mqkit.transport.native.channel import NativeChannel
from mqkit.transport.native.decoding import properties_of
from mqkit.transport.native.faults import (
    connection_refused,
    foreign,
    lost,
    protocol_broken,
    unopened,
)
from mqkit.transport.native.handshake import CHANNEL_MAX, Limits, negotiate, start_ok, tune_ok
from mqkit.transport.native.replies import Promise
from mqkit.transport.native.states import ConnectionEvent, ConnectionState, connection_after
from mqkit.transport.native.whole_delivery import DELIVER_IDS, WholeDeliveries, consumer_of
from mqkit.transport.seam import Endpoint, OnBlocked, OnClosed
from mqkit.wire import (
    FRAME_END,
    FRAME_HEADER,
    FRAME_HEADER_SIZE,
    FRAME_MIN_SIZE,
    HEARTBEAT_FRAME,
    PROTOCOL_HEADER,
    FrameType,
    ReplyCode,
    WireError,
    decode_method,
    method_frame,
    methods,
)
from mqkit.wire.methods import Method

_LOG = logging.getLogger(__name__)

_ACK_OCTETS = 13
_ACK_IDS = method_frame(0, methods.BasicAck())[FRAME_HEADER_SIZE : FRAME_HEADER_SIZE + 4]
_ACK_TAG, _ACK_BITS, _MULTIPLE = slice(4, 12), 12, 1
"""The payload of a ``basic.ack``, which is read by hand: it is most of what a broker tells a
publisher."""

_METHOD, _HEADER, _BODY = int(FrameType.METHOD), int(FrameType.HEADER), int(FrameType.BODY)
_HANDSHAKE = (ConnectionState.STARTING, ConnectionState.TUNING, ConnectionState.OPENING)


class NativeConnection:
    """``opened`` is done when the connection is open, or fails with why it is not."""

    def __init__(
        self,
        endpoint: Endpoint,
        name: str,
        heartbeat_s: int,
        opened: Promise,
        on_output: Callable[[], None],
        read_properties: Callable[[bytes], Properties] = properties_of,
    ) -> None:
        self.state = ConnectionState.STARTING
        self.error: MqkitError = Closed("the connection was closed by this program")
        self.server_properties: dict[str, Any] = {}
        self.answers_cancel = False
        self.blocked_reason: str | None = None
        self._endpoint = endpoint
        self._name = name
        self._opened = opened
        self._on_output = on_output
        self._read_properties = read_properties
        self._deliveries = WholeDeliveries()
        self._limits = Limits(CHANNEL_MAX, FRAME_MIN_SIZE, heartbeat_s)
        self._heartbeat = Heartbeat(0)
        self._channels: dict[int, NativeChannel] = {}
        self._rest = b""
        self._output: list[bytes] = [PROTOCOL_HEADER]
        self.output_octets = 0
        """Octets of publishes written since the output was taken last."""
        self._unflushed: list[NativeChannel] = []
        self._closing: list[Promise] = []
        self._blocked_callbacks: list[OnBlocked] = []
        self._closed_callbacks: list[OnClosed] = []
        self._reason: MqkitError | None = None

    @property
    def is_open(self) -> bool:
        return self.state is ConnectionState.OPEN

    @property
    def is_closed(self) -> bool:
        return self.state is ConnectionState.CLOSED

    @property
    def frame_max(self) -> int:
        return self._limits.frame_max

    @property
    def tick_s(self) -> float | None:
        """Seconds between calls of :meth:`tick`; ``None`` for none. Known when ``opened`` is
        done."""
        return self._heartbeat.tick_s

    # -- out ---------------------------------------------------------------------------------

    def take_output(self) -> list[bytes]:
        """The octets to be written now."""
        if self._unflushed:
            unflushed, self._unflushed = self._unflushed, []
            for channel in unflushed:
                channel.flush_acks()
        output, self._output = self._output, []
        self.output_octets = 0
        if output:
            self._heartbeat.spoke = True
        return output

    def write(self, octets: bytes) -> None:
        """Send whole frames, after what was written before."""
        if not self._output:
            self._on_output()
        self._output.append(octets)

    def write_publishes(self, parts: list[bytes], octets: int) -> None:
        """Send whole frames, given in parts of ``octets`` in all."""
        if not self._output:
            self._on_output()
        self._output += parts
        self.output_octets += octets

    def flush_later(self, channel: NativeChannel) -> None:
        """Have the channel write its acks when the output is taken."""
        if not self._unflushed:
            self._on_output()
        if channel not in self._unflushed:
            self._unflushed.append(channel)

    def tick(self, *, is_reading: bool = True) -> None:
        """A quarter of a heartbeat interval has passed. Who does not read hears no heartbeats, and
        misses none."""
        if not is_reading:
            self._heartbeat.heard = True
        match self._heartbeat.tick():
            case Beat.SEND:
                self.write(HEARTBEAT_FRAME)
            case Beat.GONE:
                self.lost(TimeoutError("no heartbeat from the broker"))
            case Beat.NOTHING:
                pass

    # -- channels ----------------------------------------------------------------------------

    def open_channel(self, *, confirms: bool, promise: Promise) -> NativeChannel:
        """A channel, usable at once; ``promise`` is done when the broker has opened it.

        Raises :attr:`error` when the connection is closed, and :exc:`~mqkit.errors.Closed` when
        all its channels are in use.
        """
        if not self.is_open:
            raise self.error
        number = self._free_number()
        channel = NativeChannel(
            number, self, confirms=confirms, read_properties=self._read_properties
        )
        self._channels[number] = channel
        if confirms:
            channel.call(methods.ChannelOpen(), _Unheard())
            channel.call(methods.ConfirmSelect(), promise)
        else:
            channel.call(methods.ChannelOpen(), promise)
        return channel

    def release(self, number: int) -> None:
        """The channel's number may be used again."""
        self._channels.pop(number, None)

    def _free_number(self) -> int:
        for number in range(1, self._limits.channel_max + 1):
            if number not in self._channels:
                return number
        raise Closed(f"all {len(self._channels)} channels of the connection are in use")

    # -- closing -----------------------------------------------------------------------------

    def close(self, promise: Promise) -> None:
        """Close in order; ``promise`` is done when it is closed. Idempotent.

        What comes after it is thrown away. A connection that is not open yet is just dropped.
        """
        if self.is_closed:
            promise.set_result(None)
            return
        self._closing.append(promise)
        if self.is_open:
            for channel in tuple(self._channels.values()):
                channel.flush_acks()
            self.write(method_frame(0, methods.ConnectionClose(reply_code=200)))
            self._move(ConnectionEvent.CLOSE)
        elif self.state in _HANDSHAKE:
            self._end(ConnectionEvent.LOST, None)

    def lost(self, cause: BaseException | None) -> None:
        """The network has ended it, or whoever owns it gives it up. Idempotent."""
        if self.state is ConnectionState.CLOSING:
            self._end(ConnectionEvent.LOST, None)
        elif not self.is_closed:
            self._end(ConnectionEvent.LOST, self._loss(cause))

    def _loss(self, cause: BaseException | None) -> MqkitError:
        if self.state not in _HANDSHAKE:
            return lost(cause)
        is_starting = self.state is ConnectionState.STARTING
        if is_starting and self._rest:
            return foreign(self._endpoint)
        return unopened(cause, self._endpoint, heard=not is_starting)

    def on_blocked(self, callback: OnBlocked) -> None:
        """Called at once with the reason if it is blocked."""
        self._blocked_callbacks.append(callback)
        if self.blocked_reason is not None:
            callback(self.blocked_reason)

    def on_closed(self, callback: OnClosed) -> None:
        """Called once when it is closed; at once if it is."""
        if self.is_closed:
            callback(self._reason)
        else:
            self._closed_callbacks.append(callback)

    # -- in ----------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take what arrived. Never raises: a broken protocol closes the connection."""
        self._heartbeat.heard = True
        if self.state is ConnectionState.CLOSED:
            return
        try:
            self._receive(self._rest + data if self._rest else data)
        except WireError as error:
            self._broken(error)
        except ConnectionRefused as error:
            self._end(ConnectionEvent.REFUSED, error)
        except IllegalTransition as error:
            self._broken(WireError(ReplyCode.COMMAND_INVALID, str(error)))

    def _receive(self, data: bytes) -> None:
        """Cut ``data`` into frames and hand them on; what is cut off is kept for the next read."""
        offset, end = 0, len(data)
        unpack, frame_max = FRAME_HEADER.unpack_from, self._limits.frame_max
        while offset + FRAME_HEADER_SIZE <= end:
            kind, number, size = unpack(data, offset)
            start = offset + FRAME_HEADER_SIZE
            stop = start + size
            if size > frame_max:
                raise WireError(ReplyCode.FRAME_ERROR, f"a frame of {size} octets")
            if stop >= end:
                break
            if data[stop] != FRAME_END:
                raise WireError(ReplyCode.FRAME_ERROR, f"frame ends with {data[stop]:#04x}")
            if kind == _METHOD and data.startswith(DELIVER_IDS, start):
                offset = self._receive_delivery(number, data, start, stop)
            else:
                self._receive_frame(kind, number, data[start:stop])
                offset = stop + 1
            if self.state is ConnectionState.CLOSED:
                return
            frame_max = self._limits.frame_max
        self._rest = data[offset:]

    def _receive_delivery(self, number: int, data: bytes, start: int, stop: int) -> int:
        """Take a ``basic.deliver``, with its content if all of it is there; returns the offset of
        what comes next."""
        channel = self._channels.get(number)
        if channel is not None and channel.takes_deliveries:
            if channel.takes_runs and (end := self._receive_run(channel, data, start)):
                return end
            whole = self._deliveries.cut(data, start, stop, number, self._limits.frame_max)
            if whole is not None:
                channel.receive_delivery(whole)
                return whole.end
        self._receive_frame(_METHOD, number, data[start:stop])
        return stop + 1

    def _receive_run(self, channel: NativeChannel, data: bytes, start: int) -> int:
        """As :meth:`_receive_delivery`, for all that is there for a consumer of runs; 0 where the
        delivery is another's, or is not there as a whole."""
        consumer = channel.run_consumer(consumer_of(data, start))
        if consumer is None:
            return 0
        run, end = self._deliveries.cut_run(
            data, start - FRAME_HEADER_SIZE, channel.number, self._limits.frame_max
        )
        if not run:
            return 0
        channel.receive_run(consumer, run)
        return end

    def _receive_frame(self, kind: int, number: int, payload: bytes) -> None:
        if number == 0:
            if kind == _METHOD:
                self._receive_control(decode_method(payload))
            elif kind != FrameType.HEARTBEAT:
                raise WireError(ReplyCode.UNEXPECTED_FRAME, f"a frame of type {kind} on channel 0")
            return
        if self.state is ConnectionState.CLOSING:
            return
        channel = self._channels.get(number)
        if channel is None:
            raise WireError(ReplyCode.CHANNEL_ERROR, f"a frame on channel {number}, not open")
        if kind == _METHOD:
            if len(payload) == _ACK_OCTETS and payload.startswith(_ACK_IDS):
                tag, bits = int.from_bytes(payload[_ACK_TAG], "big"), payload[_ACK_BITS]
                channel.receive_ack(tag, multiple=bits & _MULTIPLE != 0)
            else:
                channel.receive_method(decode_method(payload))
        elif kind == _HEADER:
            channel.receive_header(payload)
        elif kind == _BODY:
            channel.receive_body(payload)
        else:
            raise WireError(ReplyCode.FRAME_ERROR, f"no frame of a channel has type {kind}")

    def _receive_control(self, method: Method) -> None:
        match method:
            case methods.ConnectionStart():
                self._move(ConnectionEvent.START)
                self._start(method)
            case methods.ConnectionTune():
                self._move(ConnectionEvent.TUNE)
                self._tune(method)
            case methods.ConnectionOpenOk():
                self._move(ConnectionEvent.OPEN_OK)
                self._opened.set_result(None)
            case methods.ConnectionBlocked():
                self._tell_blocked(method.reason)
            case methods.ConnectionUnblocked():
                self._tell_blocked(None)
            case methods.ConnectionClose():
                self._refused(method)
            case methods.ConnectionCloseOk():
                self._end(ConnectionEvent.CLOSE_OK, None)
            case _:
                text = f"{method.NAME} on channel 0"
                raise WireError(ReplyCode.COMMAND_INVALID, text, method.CLASS_ID, method.METHOD_ID)

    def _start(self, start: methods.ConnectionStart) -> None:
        self.server_properties = start.server_properties
        capabilities = start.server_properties.get("capabilities")
        # RabbitMQ 4.3.7 keeps a cancelled consumer's tag until the client answers; older brokers
        # close the channel on an answer that they do not expect.
        self.answers_cancel = isinstance(capabilities, dict) and bool(
            capabilities.get("accept_consumer_cancel_ok")
        )
        self.write(method_frame(0, start_ok(start, self._endpoint, self._name)))

    def _tune(self, offer: methods.ConnectionTune) -> None:
        self._limits = negotiate(offer, self._limits.heartbeat_s)
        self._heartbeat = Heartbeat(self._limits.heartbeat_s)
        self.write(method_frame(0, tune_ok(self._limits)))
        self.write(method_frame(0, methods.ConnectionOpen(virtual_host=self._endpoint.vhost)))

    def _tell_blocked(self, reason: str | None) -> None:
        self.blocked_reason = reason
        for callback in self._blocked_callbacks:
            _call(callback, reason)

    def _refused(self, close: methods.ConnectionClose) -> None:
        self.write(method_frame(0, methods.ConnectionCloseOk()))
        asked_for = self.state is ConnectionState.CLOSING
        self._end(ConnectionEvent.REFUSED, None if asked_for else connection_refused(close))

    def _broken(self, error: WireError) -> None:
        """The broker broke the protocol: say so, and be gone; nothing of it can be trusted now."""
        if self.state is ConnectionState.STARTING:
            self._end(ConnectionEvent.LOST, foreign(self._endpoint))
            return
        close = methods.ConnectionClose(
            error.reply_code, error.text[:120], error.class_id, error.method_id
        )
        self.write(method_frame(0, close))
        self._end(ConnectionEvent.LOST, protocol_broken(error))

    def _move(self, event: ConnectionEvent) -> None:
        self.state = connection_after(self.state, event)

    def _end(self, event: ConnectionEvent, error: MqkitError | None) -> None:
        """Closed, and nobody may be left waiting. ``error`` is ``None`` if by choice."""
        self._move(event)
        self._reason = error
        if error is not None:
            self.error = error
        self._rest = b""
        if not self._opened.done():
            self._opened.set_exception(self.error)
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.connection_ended(error)
        for promise in self._closing:
            if not promise.done():
                promise.set_result(None)
        callbacks, self._closed_callbacks = self._closed_callbacks, []
        for callback in callbacks:
            _call(callback, error)
        self._on_output()


class _Unheard:
    """The promise of a call whose answer nobody waits for; a refusal closes the channel anyway."""

    def done(self) -> bool:
        return True

    def set_result(self, result: Any, /) -> None: ...
    def set_exception(self, exception: BaseException, /) -> None: ...


def _call(callback: Callable[[Any], None], argument: object) -> None:
    try:
        callback(argument)
    except Exception:  # noqa: BLE001 - somebody else's callback ends nothing here
        _LOG.exception("a callback of a connection failed")
