"""The examiner of one app: gathers the facts, on any thread, and has them judged."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from mqkit.consumer.queue_handle import AnyConsumer
from mqkit.health.examination import ConsumerFacts, Facts, Limits, examine
from mqkit.health.progress import Progress
from mqkit.health.pulse import Pulse
from mqkit.health.report import Health
from mqkit.metrics.meters import Meters
from mqkit.topology.planning.quarantine import Quarantined, name_in_words

if TYPE_CHECKING:
    from mqkit.settings import Settings


class Examiner:
    """Each examination is a look at the consumers' progress, too."""

    def __init__(self, settings: Settings, meters: Meters) -> None:
        self.pulse = Pulse()
        self._limits = Limits(
            settings.health_live_s, settings.health_blocked_s, settings.health_stalled_s
        )
        self._meters = meters
        self._progress = Progress()
        self._looking = Lock()

    def examine(self, refused: Iterable[Quarantined]) -> Health:
        """The app's health as it is now; ``refused`` is what the broker does not declare."""
        connection = self._meters.connection.values
        consumers = self._meters.running
        with self._looking:
            stalled_s = self._progress.look(consumers, monotonic())
        facts = Facts(
            connection.state,
            self.pulse.age_s,
            connection.blocked_for_s,
            tuple((name_in_words(each), each.error.reply_code) for each in refused),
            tuple(_facts(consumer, stalled_s[consumer]) for consumer in consumers),
        )
        return examine(facts, self._limits)


def _facts(consumer: AnyConsumer, stalled_s: float) -> ConsumerFacts:
    return ConsumerFacts(
        consumer.queue, consumer.handler_name, consumer.state, stalled_s, consumer.patience_s
    )
