"""Consuming: handlers, the settlement of each delivery, batches, and a graceful end."""

from mqkit.consumer.batch import Batch
from mqkit.consumer.batch_consumer import BatchConsumer
from mqkit.consumer.batch_decisions import BATCH_SIZE_MAX, Window
from mqkit.consumer.batch_handler import BatchFunction, BatchHandler
from mqkit.consumer.consumer import Consumer
from mqkit.consumer.drain import DRAIN_TIMEOUT_S, drain
from mqkit.consumer.handler import (
    BodyMisfit,
    HandlerCancelled,
    HandlerFunction,
    HandlerTimeout,
    MessageFunction,
    MessageHandler,
)
from mqkit.consumer.pause import Pause
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
    "BodyMisfit",
    "Consumer",
    "HandlerCancelled",
    "HandlerFunction",
    "HandlerTimeout",
    "MessageFunction",
    "MessageHandler",
    "Pause",
    "QueueRules",
    "Settler",
    "Stats",
    "Window",
    "drain",
]
