"""Declarations as methods, and a queue's answer as a value."""

from __future__ import annotations

from mqkit.declaration import Binding, Exchange, Queue, QueueState
from mqkit.wire import methods
from mqkit.wire.methods import Method


def exchange_declare(exchange: Exchange, passive: bool) -> Method:
    return methods.ExchangeDeclare(
        exchange=exchange.name,
        type=exchange.type,
        passive=passive,
        durable=exchange.durable,
        auto_delete=exchange.auto_delete,
        internal=exchange.internal,
        arguments=dict(exchange.arguments),
    )


def queue_declare(queue: Queue, passive: bool) -> Method:
    return methods.QueueDeclare(
        queue=queue.name,
        passive=passive,
        durable=queue.durable,
        exclusive=queue.exclusive,
        auto_delete=queue.auto_delete,
        arguments=dict(queue.arguments),
    )


def queue_state(answer: methods.QueueDeclareOk) -> QueueState:
    return QueueState(answer.queue, answer.message_count, answer.consumer_count)


def bind(binding: Binding) -> Method:
    """``exchange.bind`` or ``queue.bind``."""
    return _of_binding(methods.ExchangeBind if binding.to_exchange else methods.QueueBind, binding)


def unbind(binding: Binding) -> Method:
    """``exchange.unbind`` or ``queue.unbind``."""
    return _of_binding(
        methods.ExchangeUnbind if binding.to_exchange else methods.QueueUnbind, binding
    )


def _of_binding(
    method: type[
        methods.QueueBind | methods.QueueUnbind | methods.ExchangeBind | methods.ExchangeUnbind
    ],
    binding: Binding,
) -> Method:
    """The four begin with the same fields, under two sets of names."""
    arguments = dict(binding.arguments)
    return method(binding.destination, binding.source, binding.key, arguments=arguments)
