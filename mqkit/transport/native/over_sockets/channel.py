"""The channel of the blocking seam, on a native connection and a plain socket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from itertools import count
from typing import Any

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.errors import ConfigurationError, DeadlineExceeded
from mqkit.message import Delivery, Message
from mqkit.outcome import Outcome
from mqkit.transport.native.channel import Consumer, NativeChannel, RunConsumer
from mqkit.transport.native.connection import NativeConnection
from mqkit.transport.native.delivery_run import OnRun
from mqkit.transport.native.over_sockets.answers import Answer, guarded, wait_for
from mqkit.transport.native.over_sockets.driver import SocketDriver
from mqkit.transport.native.over_sockets.publisher import BlockingPublisher
from mqkit.transport.native.requests import (
    bind,
    exchange_declare,
    queue_declare,
    queue_state,
    unbind,
)
from mqkit.transport.seam import OnCancel, OnClosed, OnDelivery, OnSettled
from mqkit.transport.window_size import WindowSize
from mqkit.wire import methods
from mqkit.wire.methods import Method

CLOSE_TIMEOUT_S = 5.0
"""The time that a peer has to answer a close: it has nothing to do but answer."""


class NativeBlockingChannel:
    """A :class:`mqkit.transport.blocking.BlockingChannel`. Get one from a connection."""

    def __init__(
        self,
        driver: SocketDriver,
        channel: NativeChannel,
        window: WindowSize,
        call_timeout_s: float,
    ) -> None:
        self._driver = driver
        self._channel = channel
        self._call_timeout_s = call_timeout_s
        self._tags = count(1)
        self._publisher = BlockingPublisher(driver, channel, window)
        channel.on_closed(lambda _: self._publisher.closed())

    @property
    def is_open(self) -> bool:
        return self._channel.is_open

    # -- declaring ---------------------------------------------------------------------------

    def declare_exchange(self, exchange: Exchange, *, passive: bool = False) -> None:
        what = f"the declare of exchange {exchange.name!r}"
        self._call(what, exchange_declare(exchange, passive))

    def declare_queue(self, queue: Queue, *, passive: bool = False) -> QueueState:
        what = f"the declare of queue {queue.name!r}"
        return queue_state(self._call(what, queue_declare(queue, passive)))

    def bind(self, binding: Binding) -> None:
        self._call(f"the bind of {binding.destination!r}", bind(binding))

    def unbind(self, binding: Binding) -> None:
        self._call(f"the unbind of {binding.destination!r}", unbind(binding))

    def delete_exchange(self, name: str, *, if_unused: bool = False) -> None:
        request = methods.ExchangeDelete(exchange=name, if_unused=if_unused)
        self._call(f"the delete of exchange {name!r}", request)

    def delete_queue(self, name: str, *, if_unused: bool = False, if_empty: bool = False) -> int:
        request = methods.QueueDelete(queue=name, if_unused=if_unused, if_empty=if_empty)
        return int(self._call(f"the delete of queue {name!r}", request).message_count)

    def purge(self, queue: str) -> int:
        request = methods.QueuePurge(queue=queue)
        return int(self._call(f"the purge of queue {queue!r}", request).message_count)

    # -- publishing --------------------------------------------------------------------------

    def publish_many(
        self, messages: Sequence[Message], *, timeout_s: float | None = None
    ) -> list[Future[Outcome]]:
        self._check_may_publish()
        return self._publisher.publish_many(messages, timeout_s)

    def publish_run(
        self,
        messages: Sequence[Message],
        on_settled: OnSettled,
        *,
        timeout_s: float | None = None,
    ) -> None:
        self._check_may_publish()
        self._publisher.publish_run(messages, on_settled, timeout_s)

    def _check_may_publish(self) -> None:
        if self._driver.is_current():
            raise ConfigurationError("publish from another thread than the connection's callbacks")

    # -- consuming ---------------------------------------------------------------------------

    def qos(self, prefetch_count: int) -> None:
        self._call("qos", methods.BasicQos(prefetch_count=prefetch_count))

    def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        request = methods.BasicGet(queue=queue, no_ack=no_ack)
        answer = self._call(f"the get from {queue!r}", request)
        return answer if isinstance(answer, Delivery) else None

    def get_many(self, queue: str, most: int) -> list[Delivery]:
        what = f"{most} gets from {queue!r}"
        self._driver.check_may_wait(what)
        request = methods.BasicGet(queue=queue)
        answers = [Answer(self._driver.later) for _ in range(most)]

        def start(_: NativeConnection) -> None:
            for answer in answers:
                self._channel.call(request, answer)

        self._driver.turn(start)
        got = [wait_for(answer.future, what, self._call_timeout_s) for answer in answers]
        return [each for each in got if isinstance(each, Delivery)]

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
        tag = consumer_tag or self._new_tag()
        request = methods.BasicConsume(
            queue=queue,
            consumer_tag=tag,
            no_ack=no_ack,
            exclusive=exclusive,
            arguments=dict(arguments or {}),
        )
        later, told = self._driver.later, guarded(on_delivery)
        cancelled = None if on_cancel is None else guarded(on_cancel)
        consumer = Consumer(
            lambda delivery: later(told, delivery),
            None if cancelled is None else lambda tag: later(cancelled, tag),
            no_ack,
        )
        self._consume(request, consumer)
        return tag

    def consume_runs(self, queue: str, on_run: OnRun, *, on_cancel: OnCancel) -> str:
        """As :meth:`consume`, with all that a read has brought at once, as it is on the wire: for
        who takes thousands, and would only take each :class:`~mqkit.message.Delivery` apart. Settle
        them by their tags."""
        tag = self._new_tag()
        later, told, cancelled = self._driver.later, guarded(on_run), guarded(on_cancel)
        consumer = RunConsumer(lambda run: later(told, run), lambda tag: later(cancelled, tag))
        self._consume(methods.BasicConsume(queue=queue, consumer_tag=tag), consumer)
        return tag

    def cancel(self, consumer_tag: str) -> None:
        if self._channel.has_consumer(consumer_tag):
            request = methods.BasicCancel(consumer_tag=consumer_tag)
            self._call(f"the cancel of {consumer_tag!r}", request)
            self._driver.turn(lambda _: self._channel.forget_consumer(consumer_tag))

    def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        self._driver.turn(lambda _: self._channel.ack(delivery_tag, multiple=multiple))

    def nack(self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True) -> None:
        self._driver.turn(
            lambda _: self._channel.nack(delivery_tag, multiple=multiple, requeue=requeue)
        )

    # -- closing -----------------------------------------------------------------------------

    def close(self) -> None:
        """Raises :exc:`~mqkit.errors.DeadlineExceeded` when the broker does not answer: the channel
        is closed for this program then, and the connection is better closed too."""
        if self._channel.is_over:
            return
        try:
            self._driver.ask(
                "the close of the channel",
                min(self._call_timeout_s, CLOSE_TIMEOUT_S),
                lambda _, closed: self._channel.close(closed),
            )
        except DeadlineExceeded:
            self._driver.turn(lambda _: self._channel.give_up())
            raise

    def on_closed(self, callback: OnClosed) -> None:
        told, later = guarded(callback), self._driver.later
        self._driver.turn(lambda _: self._channel.on_closed(lambda error: later(told, error)))

    def unblocked(self) -> None:
        """The broker takes publishes again. Called by the connection, in a turn."""
        self._publisher.unblocked()

    # -- inside ------------------------------------------------------------------------------

    def _new_tag(self) -> str:
        return f"mqkit.{self._channel.number}.{next(self._tags)}"

    def _consume(self, request: methods.BasicConsume, consumer: Consumer | RunConsumer) -> None:
        self._driver.ask(
            f"the consume from {request.queue!r}",
            self._call_timeout_s,
            lambda _, answer: self._channel.consume(request, consumer, answer),
        )

    def _call(self, what: str, request: Method) -> Any:
        return self._driver.ask(
            what, self._call_timeout_s, lambda _, answer: self._channel.call(request, answer)
        )
