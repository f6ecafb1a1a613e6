from __future__ import annotations

from dataclasses import replace

import pytest

from reference_broker.simulation.disk import autopsy
from reference_broker.simulation.disk.autopsy import Record
from reference_broker.simulation.plan.plans import BrokerPlan
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.world import World
from reference_broker.store.disk.ports import CreateFile
from reference_broker.store.format.segment import HEADER_BYTES, SegmentName

NUMBER = b"%010d."
"""The first bytes of a message's body, if it has one."""


@pytest.fixture(scope="module")
def world() -> World:
    """A run with rewritten segments, and acks and moves in others."""
    scenario = replace(with_features(draw(3, 8_000_000), ()), broker=BrokerPlan(8_192, 2_000))
    world = World(scenario)
    world.machine.start()
    for actor in world.actors[:-1]:
        actor.begin()
    world.clock.run(8_000_000)
    return world


def test_a_message_is_found_by_any_byte_of_it_in_plain_and_in_rewritten_files(
    world: World,
) -> None:
    seen = {True: 0, False: 0}
    for file in autopsy.sealed_files(world.disk):
        name = SegmentName.parse(file)
        assert name is not None
        data = world.disk.read(file)
        for number in range(1, world.history.counts["published"] + 1):
            at = data.find(NUMBER % number)
            if at >= 0:
                assert autopsy.record_at(world.disk, file, at).numbers == (number,)
                seen[name.generation > 0] += 1
    assert min(seen.values()) > 3, seen


def test_all_messages_of_a_file_are_known(world: World) -> None:
    for file in autopsy.sealed_files(world.disk):
        each = [
            autopsy.record_at(world.disk, file, byte).numbers
            for byte in range(HEADER_BYTES, world.disk.size(file), 9)
        ]
        assert {number for numbers in each for number in numbers} <= {
            *autopsy.numbers_in(world.disk, file)
        }


def test_what_else_stands_there_is_known(world: World) -> None:
    found = {
        autopsy.record_at(world.disk, file, byte)
        for file in autopsy.sealed_files(world.disk)
        for byte in range(0, world.disk.size(file), 9)
    }
    assert {Record(), Record(speaks=True), Record(defines=True)} <= found
    assert any(record.numbers and record.speaks for record in found), "a MOVE"


def test_a_header_is_nobodys(world: World) -> None:
    file = autopsy.sealed_files(world.disk)[0]
    assert autopsy.record_at(world.disk, file, HEADER_BYTES - 1) == Record()


def test_a_file_that_a_crash_may_make_the_last_one_is_not_sealed(world: World) -> None:
    sealed = autopsy.sealed_files(world.disk)
    newest = SegmentName(1 << 40, 9).file
    world.disk.perform(CreateFile(newest, 100))
    assert autopsy.sealed_files(world.disk) == sealed
