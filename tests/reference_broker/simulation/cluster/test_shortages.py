"""shortages: they come and end as they are drawn, and end with their process."""

from __future__ import annotations

import pytest

from reference_broker.core.alarms import Alarm
from reference_broker.simulation.cluster.folder import Folder
from reference_broker.simulation.cluster.process import NodeProcess
from reference_broker.simulation.cluster.shortages import LASTS_US, Shortages, has_shortages
from reference_broker.simulation.cluster.world import ClusterWorld


def test_a_share_of_the_seeds_has_some() -> None:
    assert 80 < sum(map(has_shortages, range(300))) < 120


@pytest.fixture
def process() -> NodeProcess:
    world = ClusterWorld(next(filter(has_shortages, range(100))))
    world.processes["n0"] = process = NodeProcess(world, "n0", Folder())
    return process


@pytest.mark.parametrize("alarm", Alarm)
def test_a_node_is_short_for_a_while(process: NodeProcess, alarm: Alarm) -> None:
    world, alarms = process._world, process.broker.broker.alarms
    shortages = Shortages(world)
    shortages._begin(process, alarm)
    shortages._begin(process, alarm)
    assert alarms.on == [alarm]
    assert [each.alarm for each in shortages.now] == [alarm]
    world.clock.run(LASTS_US[1] + 1_000)
    assert not alarms.on
    assert not shortages.now


def test_it_ends_with_the_process(process: NodeProcess) -> None:
    shortages = Shortages(process._world)
    shortages._begin(process, Alarm.DISK)
    process._world.clock.now_us = 1_000
    process.kill()
    assert shortages.all[0].ended_us == 1_000
    assert not shortages.now


def test_all_end_with_the_faults(process: NodeProcess) -> None:
    shortages = Shortages(process._world)
    shortages._begin(process, Alarm.MEMORY)
    shortages._begin(process, Alarm.DISK)
    shortages.end()
    process._world.clock.run(1_000)
    assert not process.broker.broker.alarms.on
    shortages._begin(process, Alarm.DISK)
    assert not shortages.now
