"""mqkit_bench.plot.command: files in, the same picture out each time."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer

from mqkit_bench.broker.families import one_queue
from mqkit_bench.broker.growth import Point
from mqkit_bench.broker.standing import Round, Spread, standing
from mqkit_bench.plot.command import plot
from mqkit_bench.report import write_json


def test_the_same_figures_make_the_same_file(tmp_path: Path) -> None:
    scenario = one_queue("persistent", 1024)
    ours = [Round(300.0, 5.0, 1.0, 80.0, 10, "")]
    broker, growth = tmp_path / "broker.json", tmp_path / "growth.json"
    write_json(broker, [standing(scenario, "RabbitMQ", "fsync", ours, ours, None)])
    write_json(growth, [Point("queues", "queues in use", 1, "a", Spread(1, 1, 1), 90.0)])
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    plot([broker, growth], first)
    plot([broker, growth], second)
    assert first.read_bytes() == second.read_bytes()
    words = [each.text for each in ElementTree.fromstring(first.read_text()).iter() if each.text]
    assert any("beside RabbitMQ" in word for word in words)
    assert "queues in use" in words


def test_figures_without_a_rival_are_no_picture(tmp_path: Path) -> None:
    scenario = one_queue("persistent", 1024)
    ours = [Round(300.0, 5.0, 1.0, 80.0, 10, "")]
    file, out = tmp_path / "broker.json", tmp_path / "bench.svg"
    write_json(file, [standing(scenario, "ours", "a", ours, None, None)])
    with pytest.raises(typer.BadParameter, match="one broker only"):
        plot([file], out)
    file.write_text("[1]")
    with pytest.raises(typer.BadParameter, match="no figures"):
        plot([file], out)
    assert not out.exists()
