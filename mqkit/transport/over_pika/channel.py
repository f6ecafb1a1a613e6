"""One AMQP channel of the pika adapter: the verbs of the blocking seam.

Each verb that has an answer becomes a step on the loop's thread and a future that the answer, or
the end of the channel, completes. Publishing has its own file,
:mod:`mqkit.transport.over_pika.publisher`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from pika import data, spec
from pika import exceptions as pika_errors

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.errors import ChannelError, Closed, ConfigurationError, MqkitError, StaleDelivery
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome
from mqkit.transport.over_pika.errors import closing_error
from mqkit.transport.over_pika.loop import LoopThread
from mqkit.transport.over_pika.properties import from_pika, plain
from mqkit.transport.over_pika.publisher import PikaPublisher
from mqkit.transport.seam import OnCancel, OnClosed, OnDelivery, OnSettled
from mqkit.transport.window_size import WindowSize

LOGGER = logging.getLogger("mqkit.transport.pika")

T = TypeVar("T")

Reply = Callable[[Any], None]
"""The callback for the frame that answers a call."""


class PikaChannel:
    """Keeps :class:`mqkit.transport.blocking.BlockingChannel`. Made by a connection."""

    def __init__(
        self, thread: LoopThread, window: WindowSize, call_timeout_s: float, *, confirms: bool
    ) -> None:
        self._thread = thread
        self._call_timeout_s = call_timeout_s
        self._confirms = confirms
        self._publisher = PikaPublisher(thread, window, confirms=confirms)
        self._lock = threading.Lock()
        self._closed = False
        self._reason: MqkitError | None = None
        self._raw: Any = None
        self._refused_method: tuple[int, int] | None = None
        self._calls: dict[Future[Any], None] = {}
        self._empty_get: Callable[[], None] | None = None
        self._on_cancel: dict[str, OnCancel] = {}
        self._closed_callbacks: list[OnClosed] = []

    @property
    def is_open(self) -> bool:
        """False from the moment that the channel can't be used any more."""
        return not self._closed

    # ---- declaring

    def declare_exchange(self, exchange: Exchange, *, passive: bool = False) -> None:
        """``exchange.declare``. Idempotent for equal parameters."""
        self._ask(
            f"the declare of exchange {exchange.name!r}",
            lambda reply: self._raw.exchange_declare(
                exchange=exchange.name,
                exchange_type=exchange.type,
                passive=passive,
                durable=exchange.durable,
                auto_delete=exchange.auto_delete,
                internal=exchange.internal,
                arguments=dict(exchange.arguments),
                callback=reply,
            ),
        )

    def declare_queue(self, queue: Queue, *, passive: bool = False) -> QueueState:
        """``queue.declare``. Idempotent for equal parameters."""
        frame = self._ask(
            f"the declare of queue {queue.name!r}",
            lambda reply: self._raw.queue_declare(
                queue=queue.name,
                passive=passive,
                durable=queue.durable,
                exclusive=queue.exclusive,
                auto_delete=queue.auto_delete,
                arguments=dict(queue.arguments),
                callback=reply,
            ),
        )
        answer = frame.method
        return QueueState(answer.queue, answer.message_count, answer.consumer_count)

    def bind(self, binding: Binding) -> None:
        """``queue.bind`` or ``exchange.bind``. Idempotent."""
        self._ask(f"the bind of {binding.destination!r}", self._binder(binding, "bind"))

    def unbind(self, binding: Binding) -> None:
        """``queue.unbind`` or ``exchange.unbind``. Idempotent."""
        self._ask(f"the unbind of {binding.destination!r}", self._binder(binding, "unbind"))

    def delete_exchange(self, name: str, *, if_unused: bool = False) -> None:
        """``exchange.delete``. RabbitMQ does not mind if there is none."""
        self._ask(
            f"the delete of exchange {name!r}",
            lambda reply: self._raw.exchange_delete(name, if_unused=if_unused, callback=reply),
        )

    def delete_queue(self, name: str, *, if_unused: bool = False, if_empty: bool = False) -> int:
        """``queue.delete``; returns how many messages went with it."""
        frame = self._ask(
            f"the delete of queue {name!r}",
            lambda reply: self._raw.queue_delete(
                name, if_unused=if_unused, if_empty=if_empty, callback=reply
            ),
        )
        return int(frame.method.message_count)

    def purge(self, queue: str) -> int:
        """``queue.purge``; returns how many ready messages were dropped."""
        frame = self._ask(
            f"the purge of queue {queue!r}",
            lambda reply: self._raw.queue_purge(queue, callback=reply),
        )
        return int(frame.method.message_count)

    # ---- publishing

    def publish_many(
        self, messages: Sequence[Message], *, timeout_s: float | None = None
    ) -> list[Future[Outcome]]:
        """See :meth:`mqkit.transport.blocking.BlockingChannel.publish_many`."""
        if self._thread.is_current():
            raise ConfigurationError("publish from another thread than the connection's callbacks")
        return self._publisher.publish_many(messages, timeout_s)

    def publish_run(
        self,
        messages: Sequence[Message],
        on_settled: OnSettled,
        *,
        timeout_s: float | None = None,
    ) -> None:
        for position, future in enumerate(self.publish_many(messages, timeout_s=timeout_s)):
            future.add_done_callback(partial(_tell, on_settled, position))

    # ---- consuming

    def qos(self, prefetch_count: int) -> None:
        """At most so many unacked deliveries per consumer started after this; 0 is unlimited."""
        self._ask(
            "qos",
            lambda reply: self._raw.basic_qos(prefetch_count=prefetch_count, callback=reply),
        )

    def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        """One message if one is ready (``basic.get``)."""

        def start(reply: Reply) -> None:
            self._raw.basic_get(
                queue,
                lambda _, method, properties, body: reply(
                    _delivery(method, properties, body, consumer_tag="")
                ),
                auto_ack=no_ack,
            )
            self._empty_get = lambda: reply(None)

        answer: Delivery | None = self._ask(f"the get from {queue!r}", start)
        return answer

    def get_many(self, queue: str, most: int) -> list[Delivery]:
        """One after the other: pika has one get of a channel on its way at a time."""
        found: list[Delivery] = []
        while len(found) < most and (delivery := self.get(queue)) is not None:
            found.append(delivery)
        return found

    def consume(
        self,
        queue: str,
        on_delivery: OnDelivery,
        *,
        on_cancel: OnCancel | None = None,
        no_ack: bool = False,
        exclusive: bool = False,
        consumer_tag: str = "",
        arguments: Mapping[str, object] | None = None,
    ) -> str:
        """Start a consumer; returns its tag. ``arguments`` are those of ``basic.consume``."""
        table = _table(arguments)

        def start(reply: Reply) -> None:
            tag = self._raw.basic_consume(
                queue,
                lambda _, method, properties, body: _call(
                    on_delivery, _delivery(method, properties, body, method.consumer_tag)
                ),
                auto_ack=no_ack,
                exclusive=exclusive,
                consumer_tag=consumer_tag or None,
                arguments=table,
                callback=lambda frame: reply(frame.method.consumer_tag),
            )
            if on_cancel is not None:
                self._on_cancel[tag] = on_cancel

        return str(self._ask(f"the consume from {queue!r}", start))

    def cancel(self, consumer_tag: str) -> None:
        """Stop the consumer; deliveries already made stay unacked until settled. Does nothing
        for a consumer that is not, or no longer, on this channel."""

        def start(reply: Reply) -> None:
            self._on_cancel.pop(consumer_tag, None)
            if consumer_tag in self._raw.consumer_tags:
                self._raw.basic_cancel(consumer_tag, callback=reply)
            else:
                reply(None)

        self._ask(f"the cancel of {consumer_tag!r}", start)

    def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        """``basic.ack``. Allowed in callbacks. Raises StaleDelivery when the channel is gone."""
        self._settle(lambda: self._raw.basic_ack(delivery_tag, multiple))

    def nack(self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True) -> None:
        """``basic.nack``. Allowed in callbacks. Raises StaleDelivery when the channel is gone."""
        self._settle(lambda: self._raw.basic_nack(delivery_tag, multiple, requeue))

    # ---- ending

    def close(self) -> None:
        """Idempotent. Unacked deliveries go back to their queues."""
        if self._closed:
            return
        over: Future[None] = Future()
        self.on_closed(lambda _: over.set_result(None))

        def close_it() -> None:
            if self._raw.is_open:
                self._raw.close()

        self._thread.submit(close_it, lambda _: None)
        self._thread.wait(over, "the close of the channel", self._call_timeout_s)

    def on_closed(self, callback: OnClosed) -> None:
        """Register a callback; called at once if the channel is closed already."""
        with self._lock:
            closed = self._closed
            if not closed:
                self._closed_callbacks.append(callback)
        if closed:
            callback(self._reason)

    # ---- on the loop's thread, called by the connection

    def begin(self, raw: Any, ready: Callable[[], None]) -> None:
        """The raw channel is open: select confirms if asked, then call ``ready``."""
        self._publisher.attach(raw)
        raw.add_on_cancel_callback(self._on_raw_cancel)
        raw.add_callback(self._on_get_empty, [spec.Basic.GetEmpty], one_shot=False)
        if self._confirms:
            raw.confirm_delivery(self._publisher.on_answer, callback=lambda _: ready())
        else:
            ready()

    def attach(self, raw: Any) -> None:
        """The raw channel exists, but is not open yet."""
        self._raw = raw
        raw.add_on_close_callback(lambda _, reason: self._on_raw_close(closing_error(reason)))
        raw.add_callback(self._on_close_frame, [spec.Channel.Close])

    def pause(self, *, paused: bool) -> None:
        """The broker has blocked or unblocked the connection."""
        self._publisher.pause(paused=paused)

    def end(self, reason: MqkitError | None) -> None:
        """The channel is closed: nobody may be left waiting. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._reason = reason
            self._closed = True
            callbacks = self._closed_callbacks
        self._publisher.end(reason)
        calls, self._calls = self._calls, {}
        for answer in calls:
            answer.set_exception(self._why_closed())
        for callback in callbacks:
            _call(callback, reason)

    # ---- inside

    def _ask(self, what: str, start: Callable[[Reply], Any]) -> Any:
        """Run ``start`` on the thread with the callback for its answer; wait for the answer."""
        answer: Future[Any] = Future()

        def reply(value: Any) -> None:
            if answer in self._calls:
                del self._calls[answer]
                answer.set_result(value)

        def step() -> None:
            if self._closed:
                answer.set_exception(self._why_closed())
                return
            self._calls[answer] = None
            try:
                start(reply)
            except pika_errors.AMQPError as error:
                self._calls.pop(answer, None)
                answer.set_exception(_start_error(what, error))
            except (TypeError, ValueError, pika_errors.ChannelError) as error:
                self._calls.pop(answer, None)
                answer.set_exception(ConfigurationError(f"{what}: {error!r}"))
            except BaseException:
                self._calls.pop(answer, None)
                raise

        self._thread.submit(step, lambda error: answer.set_exception(self._reason or error))
        return self._thread.wait(answer, what, self._call_timeout_s)

    def _settle(self, write: Callable[[], None]) -> None:
        if self._closed:
            raise self._stale()

        def step() -> None:
            if self._raw.is_open:
                write()

        if self._thread.is_current():
            step()
        else:
            self._thread.submit(step, lambda _: None)

    def _binder(self, binding: Binding, verb: str) -> Callable[[Reply], Any]:
        def start(reply: Reply) -> None:
            kind = "exchange" if binding.to_exchange else "queue"
            getattr(self._raw, f"{kind}_{verb}")(
                binding.destination,
                binding.source,
                routing_key=binding.key,
                arguments=dict(binding.arguments),
                callback=reply,
            )

        return start

    def _on_raw_close(self, reason: MqkitError | None) -> None:
        """pika tells here why, but not because of which method: the frame itself says that, and
        pika hands it over next."""
        if isinstance(reason, ChannelError) and self._refused_method is None:
            self._reason = reason
        else:
            self.end(self._with_method(reason))

    def _on_close_frame(self, frame: Any) -> None:
        self._refused_method = (frame.method.class_id, frame.method.method_id)
        if self._raw.is_closed:
            self.end(self._with_method(self._reason))

    def _with_method(self, reason: MqkitError | None) -> MqkitError | None:
        if isinstance(reason, ChannelError) and self._refused_method is not None:
            return ChannelError(reason.reply_code, reason.reply_text, *self._refused_method)
        return reason

    def _on_get_empty(self, _: object) -> None:
        if self._empty_get is not None:
            self._empty_get()

    def _on_raw_cancel(self, frame: Any) -> None:
        tag = frame.method.consumer_tag
        callback = self._on_cancel.pop(tag, None)
        if callback is not None:
            _call(callback, tag)

    def _why_closed(self) -> MqkitError:
        return self._reason or Closed("the channel was closed by this program")

    def _stale(self) -> StaleDelivery:
        return StaleDelivery(
            f"its channel is gone ({self._why_closed()}); the broker will deliver it again"
        )


def _start_error(what: str, error: pika_errors.AMQPError) -> MqkitError:
    if isinstance(
        error, pika_errors.ChannelWrongStateError | pika_errors.ConnectionWrongStateError
    ):
        return Closed("the channel is closed")
    return ConfigurationError(f"{what}: {error!r}")


def _table(arguments: Mapping[str, object] | None) -> dict[str, Any]:
    """Consume arguments as pika takes them. Encoded once before pika does it, which would remember
    a consumer that it could not start."""
    table: dict[str, Any] = plain(arguments or {})
    try:
        data.encode_table([], table)
    except Exception as error:  # noqa: BLE001 - struct.error, AttributeError ...: pika checks little
        raise ConfigurationError(f"AMQP can't carry this: {error!r}") from None
    return table


def _delivery(method: Any, properties: Any, body: bytes, consumer_tag: str) -> Delivery:
    return Delivery(
        exchange=method.exchange,
        routing_key=method.routing_key,
        body=body,
        properties=from_pika(properties),
        delivery_tag=method.delivery_tag,
        redelivered=method.redelivered,
        consumer_tag=consumer_tag,
    )


def _call(callback: Callable[[T], None], argument: T) -> None:
    """A user's callback: what it raises is logged, and does not end the thread."""
    try:
        callback(argument)
    except Exception:
        LOGGER.exception("a callback of the channel raised")


def _tell(on_settled: OnSettled, position: int, settled: Future[Outcome]) -> None:
    on_settled(position, (settled.result(),))
