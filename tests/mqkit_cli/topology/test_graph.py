"""`mqkit topology graph`: a file, a file with the counts of a broker, a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FILE = (
    "exchanges:\n  x: {type: topic}\nqueues:\n"
    "  q: {bind: [{from: x, key: a}], retry: {after: [5s]}}\n  '\"];<script>':\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "topology.yaml"
    path.write_text(FILE)
    return path


def test_a_file_in_mermaid_and_dot(mqkit: Any, file: Path) -> None:
    answer = mqkit("topology", "graph")
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert answer.stdout == (
        "flowchart LR\n"
        '    n1(["x<br/>topic"])\n'
        '    n2[("q<br/>retry 5s<br/>parks in q.parked")]\n'
        '    n3[("#34;#93;#59;#60;script#62;")]\n'
        '    n1 -->|"a"| n2\n'
    )
    answer = mqkit("topology", "graph", "-f", str(file), "--format", "dot")
    assert answer.returncode == 0
    assert answer.stdout.startswith("digraph topology {\n")
    assert mqkit("topology", "graph", "--format", "svg").returncode == 1


def test_unfolded(mqkit: Any, file: Path) -> None:
    answer = mqkit("topology", "graph", "--unfold")
    assert '[("q.retry.5s")]' in answer.stdout
    assert "class n4 tier" in answer.stdout


def test_a_file_with_a_fault_is_1(mqkit: Any, file: Path) -> None:
    file.write_text("queues: 5\n")
    assert mqkit("topology", "graph").returncode == 1
    assert mqkit("topology", "graph", "-f", "nothing.yaml").returncode == 1


def test_live_needs_a_broker(mqkit: Any, file: Path) -> None:
    answer = mqkit("topology", "graph", "--live")
    assert answer.returncode == 1
    assert "--url" in answer.stderr


def test_counts_of_a_broker(mqkit: Any, broker: Any, unique: Any, tmp_path: Path) -> None:
    queue, unknown = unique("q"), unique("unknown")
    file = tmp_path / "topology.yaml"
    file.write_text(f"queues:\n  {queue}: {{bind: [{{from: amq.topic, key: a}}]}}\n")
    at = ["--url", broker.url, "--management-url", broker.management_url]
    assert mqkit("topology", "apply", *at).returncode == 0
    file.write_text(file.read_text() + f"  {unknown}:\n")

    answer = mqkit("topology", "graph", "-f", "topology.yaml", *at)
    assert answer.returncode == 0, answer.stderr
    assert f"{queue}" in answer.stdout
    assert unknown in answer.stdout
    for more in ((), ("-f", "topology.yaml", "--live")):
        answer = mqkit("topology", "graph", *more, *at)
        assert answer.returncode == 0, answer.stderr
        assert queue in answer.stdout
        assert unknown not in answer.stdout


def test_depths(mqkit: Any, reference_broker: Any, tmp_path: Path) -> None:
    """The reference broker's counts are there at once."""
    broker = reference_broker
    at = ["--url", broker.url, "--management-url", broker.management_url]
    (tmp_path / "topology.yaml").write_text("queues:\n  depths-of-a-graph:\n")
    assert mqkit("topology", "apply", *at).returncode == 0
    sent = mqkit("publish", "", "depths-of-a-graph", "one", "--url", broker.url)
    assert sent.returncode == 0, sent.stderr
    answer = mqkit("topology", "graph", "-f", "topology.yaml", *at)
    assert "depths-of-a-graph<br/>1 message#44; 0 consumers" in answer.stdout
    deleted = mqkit(
        "ctl",
        "delete_queue",
        "depths-of-a-graph",
        MQKIT_URL=broker.url,
        MQKIT_MANAGEMENT_URL=broker.management_url,
    )
    assert deleted.returncode == 0
