"""Alarms of nodes: what is planted into the way that they block the publishers of all is found,
each fault by a law that it breaks, within a few of the seeds that have alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import pytest

from reference_broker.cluster.alarm_links import AlarmLinks
from reference_broker.cluster.link.link import Link
from reference_broker.core.alarms import Alarm, Alarms
from reference_broker.core.connection import received_input
from reference_broker.core.connection.connection import Connection
from reference_broker.simulation.cluster.shortages import has_shortages
from reference_broker.simulation.cluster.world import ClusterWorld

pytestmark = [pytest.mark.live, pytest.mark.slow]

SEEDS = [seed for seed in range(150) if has_shortages(seed)]

Patch = pytest.MonkeyPatch


def _an_alarm_is_told_to_nobody(patch: Patch) -> None:
    """But to those who are linked with the node later."""
    changed = AlarmLinks._changed

    def quiet(self: AlarmLinks) -> None:
        links, self._links = self._links, {}
        changed(self)
        self._links = links

    patch.setattr(AlarmLinks, "_changed", quiet)


def _a_link_begins_without_the_alarms(patch: Patch) -> None:
    def link_open(self: AlarmLinks, link: Link) -> None:
        self._links[link.peer.node] = link

    patch.setattr(AlarmLinks, "link_open", link_open)


def _an_alarm_outlives_its_link(patch: Patch) -> None:
    def link_down(self: AlarmLinks, link: Link) -> None:
        self._links = {name: each for name, each in self._links.items() if each is not link}

    patch.setattr(AlarmLinks, "link_down", link_down)


def _the_end_of_one_alarm_is_that_of_all(patch: Patch) -> None:
    hear = Alarms.hear

    def hear_one(self: Alarms, node: str, alarms: tuple[Alarm, ...]) -> None:
        if not alarms:
            self._elsewhere.clear()
        hear(self, node, alarms)

    patch.setattr(Alarms, "hear", hear_one)


def _the_end_of_an_alarm_is_not_told(patch: Patch) -> None:
    tell = AlarmLinks._tell
    patch.setattr(AlarmLinks, "_tell", lambda self, link: tell(self, link) if self._told else None)


def _what_was_sent_in_an_alarm_is_forgotten(patch: Patch) -> None:
    patch.setattr(Connection, "_go_on", lambda self: None)


def _what_was_read_in_an_alarm_is_taken(patch: Patch) -> None:
    """The connection is blocked, behind it."""
    patch.setattr(received_input, "first_publish", len)


def _nobody_is_told_of_an_alarm(patch: Patch) -> None:
    client_can = Connection.client_can

    def but_that(self: Connection, capability: str) -> Any:
        return capability != "connection.blocked" and client_can(self, capability)

    patch.setattr(Connection, "client_can", but_that)


PLANTED: dict[Callable[[Patch], None], str] = {
    _an_alarm_is_told_to_nobody: "which was published at",
    _a_link_begins_without_the_alarms: "which was published at",
    _an_alarm_outlives_its_link: "is blocked, and no node",
    _the_end_of_one_alarm_is_that_of_all: "which was published at",
    _the_end_of_an_alarm_is_not_told: "is blocked, and no node",
    _what_was_sent_in_an_alarm_is_forgotten: "is not answered",
    _what_was_read_in_an_alarm_is_taken: "which was published at",
    _nobody_is_told_of_an_alarm: "was not told",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_it_is_found(
    plant: Callable[[Patch], None],
    monkeypatch: Patch,
    found_in: Callable[[Collection[int], str], None],
) -> None:
    plant(monkeypatch)
    found_in(SEEDS, PLANTED[plant])


def test_alarms_block_publishers() -> None:
    counts = Counter[str]()
    for seed in SEEDS[:10]:
        result = ClusterWorld(seed).run()
        assert result.failure is None, f"seed {seed}: {result.failure}"
        counts += result.counts
    assert counts["runs with alarms"] == 10
    assert min(counts[f"alarms, {each.value}"] for each in Alarm) > 10
    assert counts["publishers blocked"] > 20
    assert counts["publishes in an alarm"] > 80
