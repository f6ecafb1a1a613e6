"""The names of queues by their ids. The store keeps definitions without looking into them; only a
person who reads a data folder wants to see names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from reference_broker.core.exchange.definitions import (
    QueueDefinition,
    decode_queue,
    encode_queue,
    queue_key,
)
from reference_broker.core.journal.definition_keys import INNER_QUEUES, QUEUE, QUEUE_SEEN
from reference_broker.errors import Corrupt

SALVAGED = "salvaged."
SALVAGED_VHOST = "/"


class QueueName(NamedTuple):
    vhost: str
    name: str


def queue_names(definitions: Mapping[str, bytes]) -> dict[int, QueueName]:
    """Names by queue id, also of the inner queues of delayed exchanges. A definition that can't
    be read is none: its messages belong to nobody."""
    names = {}
    for key, value in definitions.items():
        kind, _, rest = key.partition("/")
        if kind in (QUEUE, QUEUE_SEEN, *INNER_QUEUES):
            try:
                queue = decode_queue(value)
            except Corrupt:
                continue
            names[queue.id] = QueueName(unquote(rest.partition("/")[0]), queue.name)
    return names


def salvaged_name(queue_id: int) -> str:
    """The name of a queue whose definition is lost, in the virtual host "/"."""
    return f"{SALVAGED}{queue_id:x}"


def salvaged_queue(queue_id: int) -> tuple[str, bytes]:
    """Its definition, as key and value: durable, without arguments."""
    name = salvaged_name(queue_id)
    queue = QueueDefinition(queue_id, name, auto_delete=False, arguments={})
    return queue_key(SALVAGED_VHOST, name), encode_queue(queue)
