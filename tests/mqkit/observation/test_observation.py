"""An observation that is told changes: the health and the metrics that come of them."""

from __future__ import annotations

import asyncio

import pytest

from mqkit import ConnectionChanged, Event, Settings
from mqkit.health import Fault
from mqkit.observation.observation import Observation
from mqkit.supervision.states import Change, State
from mqkit.supervision.states import Event as Move

pytestmark = pytest.mark.anyio


async def test_what_is_told_is_in_health_metrics_and_events() -> None:
    observation = Observation(Settings.load())
    told: list[Event] = []
    done = asyncio.Event()

    @observation.events
    async def note(event: Event) -> None:
        told.append(event)
        if len(told) == 2:
            done.set()

    assert [reason.fault for reason in observation.health().reasons] == [Fault.NOT_RUNNING]
    observation.begins()
    assert [reason.fault for reason in observation.health().reasons] == [Fault.NOT_CONNECTED]
    observation.changed(Change(State.CONNECTING, Move.CONNECTED, State.DECLARING))
    async with asyncio.timeout(20):
        await done.wait()
    assert told == [
        ConnectionChanged(State.CLOSED, State.CONNECTING),
        ConnectionChanged(State.CONNECTING, State.DECLARING),
    ]
    assert observation.meters.values.connection.connects == 1
    observation.ended(())
    assert [reason.fault for reason in observation.health().reasons] == [Fault.NOT_RUNNING]
    assert not observation.health().is_live
    await observation.close()


@pytest.mark.parametrize(
    ("settings", "measures"),
    [
        ({}, False),
        ({"metrics": True}, True),
        ({"health": "127.0.0.1:0"}, True),
        ({"health": "127.0.0.1:0", "metrics": False}, False),
    ],
    ids=["nothing", "metrics", "health", "health without metrics"],
)
def test_it_measures_where_somebody_looks(settings: dict[str, object], measures: bool) -> None:
    assert Observation(Settings.load(**settings)).meters.values.is_measured is measures
