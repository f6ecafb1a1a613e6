"""Messages that are left in the queues after the end of the app: taken out with pika and written
down."""

from __future__ import annotations

import time

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from interop.chaos.facts import FactsFile
from interop.chaos.layout import LONGEST_TIER_S, all_queues

SETTLED_S = LONGEST_TIER_S + 1.0
"""After this time nothing is in a tier any more that was there at the begin."""
PASS_INTERVAL_S = 0.2


def take_remains(url: str, facts: FactsFile) -> None:
    """Empty every queue; a fact for each message, and for each queue that is not there."""
    until = time.monotonic() + SETTLED_S
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        queues = _that_are_there(connection, facts)
        channel = connection.channel()
        while True:
            is_last = time.monotonic() > until
            taken = sum(_empty(channel, queue, facts) for queue in queues)
            if is_last and not taken:
                return
            connection.sleep(PASS_INTERVAL_S)


def _that_are_there(connection: pika.BlockingConnection, facts: FactsFile) -> list[str]:
    found = []
    for queue in all_queues():
        try:
            connection.channel().queue_declare(queue, passive=True)
        except ChannelClosedByBroker:
            facts.write("no queue", queue=queue)
        else:
            found.append(queue)
    return found


def _empty(channel: BlockingChannel, queue: str, facts: FactsFile) -> int:
    taken = 0
    while True:
        method, properties, _ = channel.basic_get(queue, auto_ack=True)
        if method is None:
            return taken
        facts.write("found", id=properties.message_id, queue=queue)
        taken += 1
