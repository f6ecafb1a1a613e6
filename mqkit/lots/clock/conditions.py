"""Measurements of a queue as conditions of alerts. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from mqkit.lots.alerts.alert import AlertKind, Condition
from mqkit.lots.clock.looked import Looked
from mqkit.retry.duration import format_duration
from mqkit.topology.lot_model import AlertModel


def of_depth(alert: AlertModel | None, messages: int) -> Iterator[Condition]:
    """The depth of the queue, where it has a limit."""
    if alert is not None and alert.depth is not None:
        text = f"{_of(messages)}, and the limit is {alert.depth}"
        yield Condition(AlertKind.DEPTH, messages >= alert.depth, messages, alert.depth, text)


def of_age(alert: AlertModel | None, since: datetime | None, now: datetime) -> Iterator[Condition]:
    """The age of the message at the head; ``None`` where the lot is empty, or it does not say."""
    if alert is None or alert.age_ms is None:
        return
    limit_s = alert.age_ms / 1000
    age_s = 0.0 if since is None else max(0.0, (now - since) / timedelta(seconds=1))
    shown = format_duration(round(age_s) * 1000)
    text = f"its head lies there for {shown}, and the limit is {format_duration(alert.age_ms)}"
    yield Condition(AlertKind.AGE, age_s >= limit_s, round(age_s, 3), limit_s, text)


def of_look(looked: Looked) -> Iterator[Condition]:
    """The outcome of a look. One that found no message due to be archived, or sent, says that
    nothing waits for a disk or a queue."""
    if not looked.is_led:
        return
    archive_text = f"messages can't be archived, and stay: {looked.archive_fault}"
    yield Condition(AlertKind.ARCHIVE, bool(looked.archive_fault), text=archive_text)
    replay_text = f"messages can't go back, and stay: {looked.refused}"
    yield Condition(AlertKind.REPLAY, bool(looked.refused), text=replay_text)
    yield Condition(
        AlertKind.UNDATED,
        looked.undated > 0,
        looked.undated,
        text=f"{_of(looked.undated)} without the time of being parked: they stay"
        " (mqkit dlq replay, or dlq archive)",
    )
    yield Condition(
        AlertKind.UNSEEN,
        looked.unseen > 0 and not looked.delivery_limit,
        looked.unseen,
        text=f"not looked at: {_of(looked.unseen)} behind {looked.left} that are not due;"
        " give the lot an 'archive', or a shorter 'after'",
    )
    yield Condition(
        AlertKind.DELIVERY_LIMIT,
        looked.delivery_limit,
        text="looks count against the delivery limit of this quorum queue, and it is not looked at"
        " any further: declare it with x-delivery-limit: 2147483647",
    )


def _of(messages: int) -> str:
    return f"{messages} message" + ("" if messages == 1 else "s")
