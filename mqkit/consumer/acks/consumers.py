"""The kind of consumer for each mode of acking."""

from __future__ import annotations

from collections.abc import Mapping

from mqkit.consumer.acks.before import AckBeforeConsumer
from mqkit.consumer.acks.manual import ManualConsumer
from mqkit.consumer.acks.mode import AckMode
from mqkit.consumer.consumer import Consumer

CONSUMERS: Mapping[AckMode, type[Consumer]] = {
    AckMode.AFTER: Consumer,
    AckMode.BEFORE: AckBeforeConsumer,
    AckMode.MANUAL: ManualConsumer,
}
