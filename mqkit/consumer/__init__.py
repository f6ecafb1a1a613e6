"""Consuming: handlers, the settlement of each delivery, batches, and a graceful end."""

from mqkit.consumer.acks.manual_delivery import ManualDelivery
from mqkit.consumer.batches.batch import Batch
from mqkit.consumer.batches.batch_consumer import BatchConsumer
from mqkit.consumer.batches.batch_decisions import BATCH_SIZE_MAX, Window
from mqkit.consumer.batches.batch_handler import BatchFunction, BatchHandler
from mqkit.consumer.consume_options import ConsumeOptions
from mqkit.consumer.consumer import Consumer
from mqkit.consumer.drain import DRAIN_TIMEOUT_S, drain
from mqkit.consumer.handler import (
    HandlerCancelled,
    HandlerFunction,
    HandlerTimeout,
    MessageFunction,
    MessageHandler,
)
from mqkit.consumer.pause import Pause
from mqkit.consumer.queue_handle import MakeConsumer, QueueHandle
from mqkit.consumer.settlement import QueueRules
from mqkit.consumer.settlement_steps import Settler
from mqkit.consumer.stats import Stats

__all__ = [
    "BATCH_SIZE_MAX",
    "DRAIN_TIMEOUT_S",
    "Batch",
    "BatchConsumer",
    "BatchFunction",
    "BatchHandler",
    "ConsumeOptions",
    "Consumer",
    "HandlerCancelled",
    "HandlerFunction",
    "HandlerTimeout",
    "MakeConsumer",
    "ManualDelivery",
    "MessageFunction",
    "MessageHandler",
    "Pause",
    "QueueHandle",
    "QueueRules",
    "Settler",
    "Stats",
    "Window",
    "drain",
]
