"""The laws of a calm: nothing fails for a while, nobody publishes any more, and every client acks
what it is handed. Then everybody has what is his.

- *Liveness*: each client is connected; what it asked is answered; what it published is confirmed or
  refused; and where a queue has a consumer and something that has been ready for long, the consumer
  has been handed something lately: what became ready just now is not owed to one whose window is
  full, or whose share a quicker one has had. While an alarm is on, the broker doesn't read from
  those who publish: no more is asked of a client then than that it is connected, and of the rest
  what there was time for since.
  No alarm is on for a disk that has room (:func:`judge_room`).
- *Lateness*: nothing is much later than it was due, which holds at any time
  (:func:`judge_overdue`); and what waits for its time waits no more, as no time is longer than the
  calm: queues with a TTL have nothing ready, and no delayed exchange and no requeue delay holds
  anything. What came in at the end of an alarm has its time (:data:`LONGEST_US`), too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reference_broker.simulation.events.standings import QueueStanding, Standing
from reference_broker.simulation.watch.checkers.checker import Violation

CALM_US = 30_000_000
"""Microseconds of a calm. An end that does not read notices after 20 s that its link is cut, and
then its client has to come back and get something; no TTL and no delay is longer than 8 s."""

CALM_REST_US = 2_000_000
"""Microseconds of it at the end in which nobody does anything: then all answers are there, also to
what publishers had sent during an alarm that ended before."""

LONGEST_US = 11_000_000
"""Microseconds after which nothing waits for its time any more: 8 s, and :data:`LATE_MS`."""

LATELY_MS = 8_000
"""Milliseconds in which a consumer of a queue that has something ready all the while gets some of
it. The slowest client acks every 2.4 s, and the slowest broker is a turn of one message at a
time."""


LATE_MS = 3_000
"""Milliseconds by which a broker that has been up for as long may be late with what is due: far
more than it takes to read a message, or to go through a full queue a message a turn."""


def judge_overdue(overdue_ms: Mapping[str, int]) -> None:
    """Hold a broker to its times, calm or not: ``overdue_ms`` says for how long something has been
    due, by queue; of what expires only at the head of a queue, what has been that for
    :data:`LATE_MS`. Raises :exc:`Violation`."""
    for queue, late_ms in overdue_ms.items():
        if late_ms > LATE_MS:
            raise Violation("lateness", f"'{queue}' has a message that was due {late_ms} ms ago")


def judge_room(*, alarm_on: bool, has_room: bool) -> None:
    """Hold a broker to what it says of its disk: what was short of room is tried again, and the
    alarm ends. Raises :exc:`Violation`."""
    if alarm_on and has_room:
        seconds = CALM_US // 1_000_000
        raise Violation("liveness", f"the disk has had room for {seconds} s, and its alarm is on")


def judge(
    clients: Iterable[Standing],
    queues: Mapping[str, QueueStanding],
    now_ms: int,
    *,
    unblocked_us: int,
) -> None:
    """Hold clients and the queues that they use to the laws: ``long_ready`` of a queue counts what
    has been ready for :data:`LATELY_MS`. ``unblocked_us`` says for how long the
    broker has taken publishes, 0 for an alarm that is on. Raises :exc:`Violation`."""
    for client in clients:
        if not client.is_connected:
            seconds = CALM_US // 1_000_000
            raise Violation("liveness", f"{client.name} is not connected after {seconds} s of calm")
        if unblocked_us >= CALM_REST_US:
            _judge_answers(client)
        if unblocked_us >= LATELY_MS * 1_000:
            _judge_deliveries(client, queues, now_ms)
    if unblocked_us < LONGEST_US:  # what publishers had sent came in as the alarm went and came
        return
    for name, (ready, delayed, has_ttl, _) in queues.items():
        if has_ttl and ready:
            raise Violation("lateness", f"'{name}' has {ready} messages whose TTL is over")
        if delayed:
            raise Violation("lateness", f"'{name}' holds {delayed} messages back that were due")


def _judge_answers(client: Standing) -> None:
    if client.asked:
        raise Violation("liveness", f"{client.name} has {client.asked} requests without an answer")
    if client.published:
        raise Violation(
            "liveness",
            f"{client.name} has {client.published} messages neither confirmed nor refused",
        )


def _judge_deliveries(client: Standing, queues: Mapping[str, QueueStanding], now_ms: int) -> None:
    for queue, handed_ms in client.handed_ms.items():
        ready = queues[queue].long_ready if queue in queues else 0
        if ready and now_ms - handed_ms > LATELY_MS:
            raise Violation(
                "liveness",
                f"'{queue}' has had {ready} messages ready for {LATELY_MS // 1_000} s, and"
                f" {client.name} consumes it and was handed none since",
            )
