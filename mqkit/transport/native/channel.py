"""One channel of a native connection, without I/O: methods in and out, who waits for what.

Its methods append frames to the connection's output; the shell around it writes them. Promises are
futures of whatever kind the shell has; callbacks are called while the broker's bytes are handed in.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from mqkit.drafts import new_delivery
from mqkit.errors import Closed, ConfigurationError, MqkitError, StaleDelivery
from mqkit.message import Delivery, Message, Properties
from mqkit.outcome import Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.confirms import ConfirmLedger, Settled
from mqkit.transport.native.acks import Acks
from mqkit.transport.native.decoding import Content, properties_of
from mqkit.transport.native.delivery_run import DeliveryRun, OnRun, Way
from mqkit.transport.native.encoding import append_publishes
from mqkit.transport.native.faults import channel_refused, lost_channel
from mqkit.transport.native.replies import Promise, Replies
from mqkit.transport.native.states import ChannelEvent, ChannelState, channel_after
from mqkit.transport.native.whole_delivery import FLAGS_AT, Whole
from mqkit.transport.seam import OnCancel, OnClosed, OnDelivery, OnSettled
from mqkit.wire import EncodeError, ReplyCode, WireError, method_frame, methods
from mqkit.wire.methods import Method

_LOG = logging.getLogger(__name__)

_CONTENT_METHODS = (methods.BasicDeliver, methods.BasicReturn, methods.BasicGetOk)
"""Methods that a content follows."""


class Consumer(NamedTuple):
    """The receiver of the deliveries of one consumer tag."""

    on_delivery: OnDelivery
    on_cancel: OnCancel | None
    no_ack: bool


class RunConsumer(NamedTuple):
    """The receiver of the deliveries of one consumer tag, in runs that nobody has decoded."""

    on_run: OnRun
    on_cancel: OnCancel | None


class Link(Protocol):
    """The connection, as its channels see it."""

    @property
    def frame_max(self) -> int: ...
    @property
    def answers_cancel(self) -> bool:
        """True if the broker wants an answer when it cancels a consumer."""
        ...

    def write(self, octets: bytes) -> None:
        """Send whole frames, after what was written before."""
        ...

    def write_publishes(self, parts: list[bytes], octets: int) -> None:
        """Send whole frames, given in parts of ``octets`` in all."""
        ...

    def flush_later(self, channel: NativeChannel) -> None:
        """Call :meth:`NativeChannel.flush_acks` before the output is taken."""
        ...

    def release(self, number: int) -> None:
        """The channel's number may be used again."""
        ...


class NativeChannel:
    """Opened by :meth:`mqkit.transport.native.connection.NativeConnection.open_channel`."""

    def __init__(
        self,
        number: int,
        link: Link,
        *,
        confirms: bool,
        read_properties: Callable[[bytes], Properties] = properties_of,
    ) -> None:
        self.number = number
        self.confirms = confirms
        self.returned: list[Message] | None = None
        """A list while somebody collects what comes back: of a transaction, where no ack tells."""
        self.state = ChannelState.OPEN
        self.error: MqkitError = Closed("the channel was closed by this program")
        self._link = link
        self._read_properties = read_properties
        self._replies = Replies()
        self._consumers: dict[str, Consumer] = {}
        self._run_consumers: dict[str, RunConsumer] = {}
        self.takes_runs = False
        """True if there was a consumer of runs."""
        self._acks = Acks()
        self._ledger: ConfirmLedger[OnSettled] = ConfirmLedger()
        self._content: Content | None = None
        self._no_ack_gets: deque[bool] = deque()
        self._quiescence: list[Promise] = []
        self._closings: list[Promise] = []
        self._closed_callbacks: list[OnClosed] = []
        self._reason: MqkitError | None = None

    @property
    def is_open(self) -> bool:
        return self.state is ChannelState.OPEN

    @property
    def is_over(self) -> bool:
        """True once all who wait on the channel have been told of its end."""
        return self.state in (ChannelState.CLOSED, ChannelState.ABANDONED)

    @property
    def unconfirmed(self) -> int:
        return len(self._ledger)

    # -- calling -----------------------------------------------------------------------------

    def call(self, request: Method, promise: Promise) -> None:
        """Send a method; ``promise`` gets the answer: a method, or the delivery of a get.

        Raises :attr:`error` when the channel is closed, and
        :exc:`~mqkit.errors.ConfigurationError`, with nothing sent, when an argument can't be
        encoded. The promise fails with :attr:`error` when the channel closes first.
        """
        self.raise_if_closed()
        octets = self._encoded(request)
        if isinstance(request, methods.BasicGet):
            self._no_ack_gets.append(request.no_ack)
        self._replies.expect(type(request), promise)
        self._write(octets)

    def raise_if_closed(self) -> None:
        if self.state is not ChannelState.OPEN:
            raise self.error

    def wait_quiescent(self, promise: Promise) -> None:
        """``promise`` is done when nothing is unconfirmed. Call it while something is."""
        self._quiescence.append(promise)

    # -- publishing --------------------------------------------------------------------------

    def publish(
        self,
        messages: Sequence[Message],
        on_settled: OnSettled,
        *,
        start: int = 0,
        octets_max: int,
    ) -> int:
        """Write messages from ``start`` on, until ``octets_max`` are written or none is left;
        returns where to go on. ``on_settled`` hears of each message once, by its position in
        ``messages``: see :meth:`mqkit.transport.seam.Channel.publish_many` for when, and as what.
        """
        if self.state is not ChannelState.OPEN:
            detail = f"not sent: {self.error}"
            on_settled(start, [_not_sent(detail, message) for message in messages[start:]])
            return len(messages)
        parts: list[bytes] = []
        stop, octets, refused = append_publishes(
            parts, messages, start, self.number, self._link.frame_max, octets_max
        )
        if parts:
            self._link.write_publishes(parts, octets)
        begin = start
        for position, _ in refused:
            self._written(messages[begin:position], begin, on_settled)
            begin = position + 1
        self._written(messages[begin:stop], begin, on_settled)
        for position, error in refused:
            on_settled(position, (_not_encodable(messages[position], error),))
        return stop

    def _written(self, messages: Sequence[Message], position: int, on_settled: OnSettled) -> None:
        """Note publishes whose confirms are to come, if they are."""
        if not messages:
            return
        if self.confirms:
            self._ledger.record(messages, on_settled, position)
        else:
            detail = "written without publisher confirms"
            on_settled(position, [_doubt(detail, message) for message in messages])

    # -- consuming ---------------------------------------------------------------------------

    def consume(
        self, request: methods.BasicConsume, consumer: Consumer | RunConsumer, promise: Promise
    ) -> None:
        """Start a consumer under the tag in ``request``. Raises as :meth:`call`."""
        # Deliveries may come right behind consume-ok.
        tag = request.consumer_tag
        if self.has_consumer(tag):
            raise ConfigurationError(f"the channel has a consumer with the tag {tag!r} already")
        if isinstance(consumer, RunConsumer):
            self._run_consumers[tag] = consumer
            self.takes_runs = True
        else:
            self._consumers[tag] = consumer
        try:
            self.call(request, promise)
        except MqkitError:
            self.forget_consumer(tag)
            raise

    def has_consumer(self, tag: str) -> bool:
        return tag in self._consumers or tag in self._run_consumers

    def run_consumer(self, tag: str) -> RunConsumer | None:
        """The consumer of that tag, if it takes runs."""
        return self._run_consumers.get(tag)

    def forget_consumer(self, tag: str) -> None:
        """The consumer was cancelled: the broker has answered, and sends no more for it."""
        self._consumers.pop(tag, None)
        self._run_consumers.pop(tag, None)

    def ack(self, tag: int, *, multiple: bool) -> None:
        """Settle; sent with the rest of this turn. Raises :exc:`~mqkit.errors.StaleDelivery`."""
        if self.state is not ChannelState.OPEN:
            raise self._stale()
        if not multiple and self._acks.ack(tag):
            self._link.flush_later(self)
            return
        self._write(method_frame(self.number, methods.BasicAck(tag, multiple)))
        if multiple:
            self._acks.settled_up_to(tag)

    def nack(self, tag: int, *, multiple: bool, requeue: bool) -> None:
        """Give back. Raises :exc:`~mqkit.errors.StaleDelivery`."""
        if self.state is not ChannelState.OPEN:
            raise self._stale()
        self._write(method_frame(self.number, methods.BasicNack(tag, multiple, requeue)))
        if multiple:
            self._acks.settled_up_to(tag)
        else:
            self._acks.settled(tag)

    def flush_acks(self) -> None:
        """Write the acks that were held back."""
        if self.state is ChannelState.OPEN:
            number = self.number
            for tag, multiple in self._acks.take():
                self._link.write(method_frame(number, methods.BasicAck(tag, multiple)))

    # -- closing -----------------------------------------------------------------------------

    def close(self, promise: Promise | None = None) -> None:
        """Close it; ``promise`` is done when it is closed. Idempotent."""
        if self.is_over:
            if promise is not None:
                promise.set_result(None)
            return
        if promise is not None:
            self._closings.append(promise)
        if self.state is ChannelState.OPEN:
            self._write(method_frame(self.number, methods.ChannelClose(reply_code=200)))
            self._move(ChannelEvent.CLOSE)
            self._replies.fail(self.error)

    def give_up(self) -> None:
        """The broker does not answer the close: be closed without. Idempotent."""
        if self.state is ChannelState.CLOSING:
            self._move(ChannelEvent.GIVEN_UP)
            self._end(None)

    def on_closed(self, callback: OnClosed) -> None:
        """Called once when it is closed; at once if it is."""
        if self.is_over:
            callback(self._reason)
        else:
            self._closed_callbacks.append(callback)

    def connection_ended(self, error: MqkitError | None) -> None:
        """The connection is gone. ``error`` is ``None`` when this program closed it."""
        if self.state is not ChannelState.CLOSED:
            self._move(ChannelEvent.LOST)
            self._end(None if error is None else lost_channel(error))

    # -- what the broker sends ---------------------------------------------------------------

    def receive_method(self, method: Method) -> None:
        """Raises :exc:`WireError` for what has no place here."""
        if isinstance(method, methods.ChannelClose):
            self._refused(method)
        elif self.state is not ChannelState.OPEN:
            if isinstance(method, methods.ChannelCloseOk):
                self._move(ChannelEvent.CLOSE_OK)
                self._link.release(self.number)
                self._end(None)
        elif self._content is not None:
            text = f"{method.NAME} in the middle of a content"
            raise WireError(ReplyCode.UNEXPECTED_FRAME, text, method.CLASS_ID, method.METHOD_ID)
        elif isinstance(method, _CONTENT_METHODS):
            self._content = Content(method)
        elif isinstance(method, methods.BasicNack):
            self._settle(self._ledger.nack(method.delivery_tag, multiple=method.multiple))
        elif isinstance(method, methods.BasicCancel):
            self._consumer_cancelled(method.consumer_tag)
        else:
            self._replies.answer(type(method), method)
            if isinstance(method, methods.BasicGetEmpty):
                self._no_ack_gets.popleft()

    def receive_ack(self, tag: int, *, multiple: bool) -> None:
        """As :meth:`receive_method` with a ``basic.ack``, without making one."""
        if self.state is ChannelState.OPEN and self._content is None:
            self._settle(self._ledger.ack(tag, multiple=multiple))
        else:
            self.receive_method(methods.BasicAck(tag, multiple))

    @property
    def takes_deliveries(self) -> bool:
        """True if a delivery may come now, and somebody wants it."""
        return self.state is ChannelState.OPEN and self._content is None

    def receive_delivery(self, whole: Whole) -> None:
        """As :meth:`receive_method` and what follows it, for a delivery that is there as a whole.
        Ask :attr:`takes_deliveries` before."""
        consumer_tag, exchange, routing_key = whole.way
        properties = self._read_properties(whole.header)
        self._deliver(
            new_delivery(
                exchange,
                routing_key,
                whole.body,
                properties,
                whole.delivery_tag,
                whole.redelivered,
                consumer_tag,
            )
        )

    def receive_run(self, consumer: RunConsumer, run: DeliveryRun) -> None:
        """As :meth:`receive_delivery`, for a run of them, of :meth:`run_consumer`."""
        self._acks.delivered(run.tags[-1])
        _call(consumer.on_run, run)

    def receive_header(self, payload: bytes) -> None:
        """Raises :exc:`WireError`."""
        if self.state is ChannelState.OPEN and self._expected_content().header(payload):
            self._content_complete()

    def receive_body(self, payload: bytes) -> None:
        """Raises :exc:`WireError`."""
        if self.state is ChannelState.OPEN and self._expected_content().body_part(payload):
            self._content_complete()

    def _expected_content(self) -> Content:
        if self._content is None:
            raise WireError(ReplyCode.UNEXPECTED_FRAME, "a content that no method announced")
        return self._content

    def _content_complete(self) -> None:
        content, self._content = self._content, None
        assert content is not None
        method = content.method
        if self.takes_runs and isinstance(method, methods.BasicDeliver):
            consumer = self.run_consumer(method.consumer_tag)
            if consumer is not None:
                self.receive_run(consumer, _run_of_one(method, content))
                return
        properties = self._read_properties(content.header_octets)
        if isinstance(method, methods.BasicReturn):
            returned = Message(method.exchange, method.routing_key, content.body, properties)
            if self.returned is not None:
                self.returned.append(returned)
            else:
                self._ledger.returned(returned, method.reply_code, method.reply_text)
            return
        delivery = new_delivery(
            method.exchange,
            method.routing_key,
            content.body,
            properties,
            method.delivery_tag,
            method.redelivered,
            "" if isinstance(method, methods.BasicGetOk) else method.consumer_tag,
        )
        if isinstance(method, methods.BasicGetOk):
            self._replies.answer(methods.BasicGetOk, delivery)
            self._arrived(delivery, no_ack=self._no_ack_gets.popleft())
        else:
            self._deliver(delivery)

    def _deliver(self, delivery: Delivery) -> None:
        consumer = self._consumers.get(delivery.consumer_tag)
        if consumer is None:  # cancelled meanwhile: somebody else may have it
            self._arrived(delivery, no_ack=False)
            self.nack(delivery.delivery_tag, multiple=False, requeue=True)
            return
        self._arrived(delivery, no_ack=consumer.no_ack)
        try:
            consumer.on_delivery(delivery)
        except Exception:  # noqa: BLE001 - one bad delivery must not end the connection's reader
            _LOG.exception("the callback of consumer %s failed", delivery.consumer_tag)

    def _arrived(self, delivery: Delivery, *, no_ack: bool) -> None:
        if no_ack:
            self._acks.settled(delivery.delivery_tag)
        else:
            self._acks.delivered(delivery.delivery_tag)

    def _settle(self, settled: Sequence[Settled[OnSettled]]) -> None:
        for on_settled, position, outcomes in settled:
            on_settled(position, outcomes)
        if self._quiescence and not self._ledger:
            waiters, self._quiescence = self._quiescence, []
            _resolve(waiters)

    def _consumer_cancelled(self, tag: str) -> None:
        consumer = self._consumers.pop(tag, None) or self._run_consumers.pop(tag, None)
        if consumer is None:
            return
        if self._link.answers_cancel:
            self._write(method_frame(self.number, methods.BasicCancelOk(tag)))
        if consumer.on_cancel is not None:
            _call(consumer.on_cancel, tag)

    def _refused(self, close: methods.ChannelClose) -> None:
        self._link.write(method_frame(self.number, methods.ChannelCloseOk()))
        self._move(ChannelEvent.REFUSED)
        if self.state is ChannelState.CLOSED:
            self._link.release(self.number)
            self._end(channel_refused(close))

    # -- inside ------------------------------------------------------------------------------

    def _encoded(self, method: Method) -> bytes:
        try:
            octets = method_frame(self.number, method)
        except EncodeError as error:
            raise ConfigurationError(f"AMQP can't carry this: {error}") from None
        if len(octets) > self._link.frame_max:
            raise ConfigurationError(
                f"AMQP can't carry this: {method.NAME} takes {len(octets)} octets, and the broker"
                f" allows {self._link.frame_max} in a frame"
            )
        return octets

    def _write(self, octets: bytes) -> None:
        """Acks that are held back go first: they came first."""
        if self._acks.is_pending:
            self.flush_acks()
        self._link.write(octets)

    def _move(self, event: ChannelEvent) -> None:
        self.state = channel_after(self.state, event)

    def _end(self, error: MqkitError | None) -> None:
        """Closed, and nobody may be left waiting. ``error`` is ``None`` if by choice."""
        self._reason = error
        if error is not None:
            self.error = error
        self._consumers.clear()
        self._run_consumers.clear()
        self._content = None
        self._replies.fail(self.error)
        # First why, then what came of it: whoever publishes again goes by the reason.
        callbacks, self._closed_callbacks = self._closed_callbacks, []
        for callback in callbacks:
            _call(callback, error)
        self._settle(self._ledger.close(error))
        waiters = self._quiescence + self._closings
        self._quiescence, self._closings = [], []
        _resolve(waiters)

    def _stale(self) -> StaleDelivery:
        return StaleDelivery(
            f"its channel is gone ({self.error}); the broker will deliver it again"
        )


def _run_of_one(method: methods.BasicDeliver, content: Content) -> DeliveryRun:
    run = DeliveryRun()
    way = Way(method.consumer_tag, method.exchange, method.routing_key)
    octets = content.header_octets[FLAGS_AT:]
    run.add(way, method.delivery_tag, method.redelivered, octets, content.body)
    return run


def _doubt(detail: str, message: Message) -> Outcome:
    return Unknown(detail, message.properties.message_id)


def _not_sent(detail: str, message: Message) -> Outcome:
    return Unknown(detail, message.properties.message_id, sent=False)


def _not_encodable(message: Message, error: EncodeError) -> Outcome:
    detail = f"not sent: the message can't be encoded: {error}"
    return Rejected(RejectReason.REFUSED, detail, message.properties.message_id)


def _resolve(promises: Sequence[Promise]) -> None:
    for promise in promises:
        if not promise.done():
            promise.set_result(None)


def _call(callback: Callable[[Any], None], argument: object) -> None:
    try:
        callback(argument)
    except Exception:  # noqa: BLE001 - somebody else's callback ends nothing here
        _LOG.exception("a callback of a channel failed")
