"""mqkit as a program without an event loop uses it: one thread, and an :class:`mqkit.sync.App`.

Connecting is in the figures: it is done by the first publish.
"""

from __future__ import annotations

from collections.abc import Mapping

from mqkit.sync import App
from mqkit_bench.client.meter import Meter
from mqkit_bench.client.scenario import IN_FLIGHT_MAX, Load, Play, Scenario


def _publish(url: str, load: Load, meter: Meter) -> int:
    body, queue = load.body, load.queue
    confirmed = 0
    with App(url) as app:
        meter.begin()
        for _ in range(load.messages):
            confirmed += bool(app.publish("", queue, body))
        meter.end()
    return confirmed


def _publish_batch(url: str, load: Load, meter: Meter) -> int:
    body, queue = load.body, load.queue
    confirmed = 0
    with App(url) as app:
        meter.begin()
        for start in range(0, load.messages, IN_FLIGHT_MAX):
            size = min(IN_FLIGHT_MAX, load.messages - start)
            batch = [app.message("", queue, body) for _ in range(size)]
            confirmed += sum(map(bool, app.publish_batch(batch)))
        meter.end()
    return confirmed


PLAYS: Mapping[Scenario, Play] = {
    Scenario.PUBLISH_1: _publish,
    Scenario.PUBLISH_BATCH: _publish_batch,
}
