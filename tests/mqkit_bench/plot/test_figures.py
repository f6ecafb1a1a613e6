"""mqkit_bench.plot.figures: what the bench wrote can be read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqkit_bench.broker.families import one_queue
from mqkit_bench.broker.growth import Point
from mqkit_bench.broker.standing import Round, Spread, standing
from mqkit_bench.broker.sync_mode import NO_DISK
from mqkit_bench.client.contestant import BASELINE, OURS
from mqkit_bench.client.meter import Measured
from mqkit_bench.client.rounds import ClientStanding
from mqkit_bench.client.scenario import Scenario
from mqkit_bench.plot.bars import Ratio
from mqkit_bench.plot.curves import Mark
from mqkit_bench.plot.figures import NotFigures, read
from mqkit_bench.report import write_json


def test_the_first_broker_and_the_floor_have_no_bars(tmp_path: Path) -> None:
    scenario = one_queue("persistent", 2048)
    ours = [Round(300.0, 5.0, 1.0, 80.0, 10, "")]
    theirs = [Round(100.0, 50.0, 1.0, 80.0, 10, "")]
    file = tmp_path / "broker.json"
    write_json(
        file,
        [
            standing(scenario, "ours", "a", ours, None, None),
            standing(scenario, "theirs", "b", theirs, ours, None),
            standing(scenario, "relay", NO_DISK, theirs, ours, None),
        ],
    )
    (name,) = (bars := read([file]).bars)
    (row,) = bars[name]
    assert (name, row.label) == ("The reference broker beside theirs", "persistent, 2 KiB")
    assert (row.rate, row.cpu) == (Ratio(3.0, 3.0, 3.0), Ratio(0.1, 0.1, 0.1))


def test_a_client_has_a_bar_for_each_scenario_that_both_have_played(tmp_path: Path) -> None:
    def standing_of(scenario: Scenario, name: str, *seconds: float) -> ClientStanding:
        rounds = [Measured(100, each, each / 2, 50.0) for each in seconds]
        return ClientStanding(scenario, name, "1", "", rounds)

    file = tmp_path / "client.json"
    write_json(
        file,
        [
            standing_of(Scenario.PUBLISH_1, OURS.name, 1.0, 1.0, 2.0),
            standing_of(Scenario.PUBLISH_1, "another", 9.0, 9.0, 9.0),
            standing_of(Scenario.PUBLISH_1, BASELINE.name, 4.0, 5.0, 4.0),
            standing_of(Scenario.PUBLISH_100, OURS.name, 1.0),
            standing_of(Scenario.PUBLISH_100, BASELINE.name),
        ],
    )
    (title,) = (bars := read([file]).bars)
    (row,) = bars[title]
    assert (title, row.label) == ("mqkit's client beside aio-pika", "publish-1")
    assert (row.rate, row.cpu) == (Ratio(4.0, 2.0, 5.0), Ratio(0.25, 0.2, 0.5))


def test_points_are_a_curve_for_each_broker(tmp_path: Path) -> None:
    file = tmp_path / "growth.json"
    points = [
        Point("queues", "queues in use", count, name, Spread(count, 1, 9), 90.0)
        for count in (10, 1)
        for name in ("a", "b")
    ]
    write_json(file, points)
    (panel,) = read([file]).panels
    assert panel.title == "queues in use"
    assert panel.brokers["b"] == [Mark(1, 1, 1, 9), Mark(10, 10, 1, 9)]


@pytest.mark.parametrize("text", ["", "{}x", json.dumps([{"scenario": "s"}]), json.dumps([1])])
def test_anything_else_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(NotFigures, match="has no figures"):
        read([file])
