"""`mqkit topology` against both brokers: what it says, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Unique = Callable[[str], str]


@pytest.fixture
def names(unique: Unique) -> tuple[str, str]:
    """An exchange and a queue."""
    return unique("x"), unique("q")


@pytest.fixture
def file(tmp_path: Path, names: tuple[str, str]) -> Path:
    return write(tmp_path, names)


def write(folder: Path, names: tuple[str, str], more: str = "") -> Path:
    exchange, queue = names
    path = folder / "topology.yaml"
    path.write_text(
        f"exchanges:\n  {exchange}: {{type: topic}}\n"
        f"queues:\n  {queue}:\n    bind: [{{from: {exchange}, key: '*.late'}}]\n"
        f"    retry: {{after: [1s, 5s], then: park}}\n{more}"
    )
    return path


def at(broker: Any) -> list[str]:
    return ["--url", broker.url, "--management-url", broker.management_url]


def test_validate(mqkit: Any, file: Path) -> None:
    answer = mqkit("topology", "validate")  # topology.yaml is the default
    assert answer.returncode == 0
    assert answer.stdout == "topology.yaml: valid, declares 1 exchange, 4 queues, 1 binding\n"
    answer = mqkit("topology", "validate", "-f", str(file), "--json")
    assert answer.returncode == 0
    assert json.loads(answer.stdout) == {
        **{"file": str(file), "files": [str(file)]},
        **{"valid": True, "faults": []},
    }


def test_validate_reports_every_fault(mqkit: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("exchanges:\n  a: {typ: topic}\nqueues:\n  q: {max_length: x}\n")
    answer = mqkit("topology", "validate", "-f", "bad.yaml")
    assert answer.returncode == 1
    assert "bad.yaml:2: exchanges.a: unknown key 'typ'" in answer.stderr
    assert "bad.yaml:4: queues.q.max_length:" in answer.stderr
    answer = mqkit("topology", "validate", "-f", "bad.yaml", "--json")
    assert answer.returncode == 1
    found = json.loads(answer.stdout)
    assert [fault["line"] for fault in found["faults"]] == [2, 4]
    assert not found["valid"]


@pytest.mark.parametrize("command", ["validate", "plan", "apply", "diff"])
def test_a_missing_or_bad_file_is_1(mqkit: Any, tmp_path: Path, command: str) -> None:
    assert mqkit("topology", command, "-f", "nothing.yaml").returncode == 1
    (tmp_path / "bad.yaml").write_text("queues: 5\n")
    answer = mqkit("topology", command, "-f", "bad.yaml")
    assert answer.returncode == 1
    assert "bad.yaml:1: queues: 5 is not a mapping" in answer.stderr


def test_plan_apply_diff(mqkit: Any, broker: Any, file: Path, names: tuple[str, str]) -> None:
    exchange, queue = names
    command = ["-f", str(file), *at(broker)]

    for name in ("plan", "diff"):
        answer = mqkit("topology", name, *command)
        assert answer.returncode == 2, answer.stderr
        assert queue in answer.stdout
        assert exchange in answer.stdout
    planned = json.loads(mqkit("topology", "plan", *command, "--json").stdout)
    assert planned["vhost"] == "/"
    assert planned["summary"]["additive"] == 6

    answer = mqkit("topology", "apply", *command)
    assert answer.returncode == 0, answer.stderr
    assert "6 done, 0 quarantined" in answer.stdout
    answer = mqkit("topology", "apply", *command, "--json")
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["summary"]["done"] == 0

    for name in ("plan", "diff"):
        assert mqkit("topology", name, *command).returncode == 0
        answer = mqkit("topology", name, *command, "--json")
        assert answer.returncode == 0
        assert json.loads(answer.stdout)["vhost"] == "/"


def test_what_would_need_a_migration_is_refused_and_the_rest_applied(
    mqkit: Any, broker: Any, tmp_path: Path, names: tuple[str, str], unique: Unique
) -> None:
    _, queue = names
    command = ["-f", str(write(tmp_path, names)), *at(broker)]
    assert mqkit("topology", "apply", *command).returncode == 0
    added = unique("added")
    write(tmp_path, names, f"    max_priority: 3\n  {added}: {{}}\n")

    answer = mqkit("topology", "plan", *command)
    assert answer.returncode == 2
    assert "needs-migration" in answer.stdout
    answer = mqkit("topology", "diff", *command, "--json")
    assert answer.returncode == 2
    changes = {change["name"]: change for change in json.loads(answer.stdout)["changes"]}
    assert changes[added]["change"] == "missing"
    assert changes[queue]["differences"] == [
        {"field": "x-max-priority", "desired": 3, "actual": None}
    ]

    answer = mqkit("topology", "apply", *command)
    assert answer.returncode == 1
    assert "x-max-priority: is not set, wanted 3" in answer.stdout
    assert "1 of " in answer.stderr
    planned = json.loads(mqkit("topology", "plan", *command, "--json").stdout)
    assert planned["summary"]["additive"] == 0
    assert planned["summary"]["needs-migration"] == 1


def test_export_plans_as_no_change(mqkit: Any, broker: Any, file: Path, tmp_path: Path) -> None:
    assert mqkit("topology", "apply", "-f", str(file), *at(broker)).returncode == 0
    text = mqkit("topology", "export", *at(broker)).stdout
    assert "retry: {after: [1s, 5s], then: park}" in text
    answer = mqkit("topology", "export", *at(broker), "-f", "exported.yaml")
    assert answer.returncode == 0
    assert (tmp_path / "exported.yaml").exists()
    answer = mqkit("topology", "export", *at(broker), "-f", "exported.yaml")
    assert answer.returncode == 1
    assert "is there already" in answer.stderr
    objects = json.loads(mqkit("topology", "export", *at(broker), "--json").stdout)["objects"]
    assert {found["kind"] for found in objects} == {"exchange", "queue", "binding"}


def test_the_environment_names_the_broker(mqkit: Any, reference_broker: Any, file: Path) -> None:
    answer = mqkit(
        *("topology", "plan", "-f", str(file)),
        MQKIT_URL=reference_broker.url,
        MQKIT_MANAGEMENT_URL=reference_broker.management_url,
    )
    assert answer.returncode == 2
    assert "embedded" not in answer.stderr


def test_without_a_broker_it_is_tried_out_on_an_embedded_one(mqkit: Any, file: Path) -> None:
    for command, code in (("plan", 2), ("apply", 0), ("diff", 2)):
        answer = mqkit("topology", command, "-f", str(file), "--json")
        assert answer.returncode == code, answer.stderr
        assert answer.stderr.count("\n") == 1
        assert "embedded broker" in answer.stderr
        assert json.loads(answer.stdout)["vhost"] == "/"


def test_an_embedded_broker_has_the_vhost_of_the_file(mqkit: Any, tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text("vhost: shop\nqueues:\n  q: {}\n")
    answer = mqkit("topology", "apply", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["vhost"] == "shop"


def test_a_wrong_password_and_a_wrong_place_say_so(
    mqkit: Any, reference_broker: Any, file: Path
) -> None:
    wrong = reference_broker.url.replace("guest:guest", "guest:sesame")
    place = reference_broker.management_url
    answer = mqkit("topology", "plan", "-f", str(file), "--url", wrong, "--management-url", place)
    assert answer.returncode == 1
    assert "wrong user or password" in answer.stderr
    assert "sesame" not in answer.stderr
    answer = mqkit("topology", "apply", "-f", str(file), "--url", "amqp://a:sesame@127.0.0.1:1/")
    assert answer.returncode == 1
    assert "no AMQP broker answers" in answer.stderr
    assert "sesame" not in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_an_apply_needs_amqp(mqkit: Any, reference_broker: Any, file: Path) -> None:
    place = reference_broker.management_url
    answer = mqkit("topology", "apply", "-f", str(file), "--management-url", place)
    assert answer.returncode == 1
    assert "--url" in answer.stderr
