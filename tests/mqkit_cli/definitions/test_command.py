"""`mqkit broker export-definitions` and `import-definitions` against both brokers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Unique = Callable[[str], str]


def at(broker: Any) -> list[str]:
    return ["--management-url", broker.management_url]


def topology(exchange: str, queue: str) -> dict[str, Any]:
    flags = {"vhost": "/", "durable": True, "auto_delete": False}
    binding = {"source": exchange, "vhost": "/", "destination": queue, "routing_key": "a.*"}
    return {
        "exchanges": [
            {"name": exchange, "type": "topic", **flags, "internal": False, "arguments": {}}
        ],
        "queues": [{"name": queue, **flags, "arguments": {"x-max-length": 5}}],
        "bindings": [{**binding, "destination_type": "queue", "arguments": {}}],
    }


@pytest.fixture
def wanted(unique: Unique, tmp_path: Path) -> dict[str, Any]:
    found = topology(unique("x"), unique("q"))
    (tmp_path / "wanted.json").write_text(json.dumps(found))
    return found


def test_what_is_imported_is_exported(
    broker: Any, mqkit: Any, tmp_path: Path, wanted: dict[str, Any]
) -> None:
    for _ in range(2):
        answer = mqkit("broker", "import-definitions", "wanted.json", *at(broker))
        assert answer.returncode == 0, answer.stderr
        assert answer.stdout == ""
        assert answer.stderr == (
            "mqkit: imported wanted.json, which has 1 exchange, 1 queue, 1 binding\n"
        )
    answer = mqkit("broker", "export-definitions", "found.json", *at(broker))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == ""
    assert answer.stderr.endswith(" to found.json\n")
    text = (tmp_path / "found.json").read_text()
    found = json.loads(text)
    for kind, items in wanted.items():
        assert all(item in found[kind] for item in items)
    for stdout in (["-"], []):
        answer = mqkit("broker", "export-definitions", *stdout, *at(broker))
        assert (answer.returncode, answer.stdout, answer.stderr) == (0, text, "")
    answer = mqkit("broker", "import-definitions", "-", *at(broker), stdin=json.dumps(wanted))
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.startswith("mqkit: imported stdin, which has ")


def test_what_was_skipped_is_told(mqkit: Any, reference_broker: Any, unique: Unique) -> None:
    file = topology(unique("x"), "amq.gen-of-somebody")
    answer = mqkit(
        "broker", "import-definitions", "-", *at(reference_broker), stdin=json.dumps(file)
    )
    assert answer.returncode == 0
    lines = answer.stderr.splitlines()
    assert lines[0].startswith("mqkit: skipped queue 'amq.gen-of-somebody': ")
    assert lines[1].startswith(f"mqkit: skipped binding {file['exchanges'][0]['name']!r} -> 'amq.")
    assert len(lines) == 3


def test_a_refusal_is_one_line_with_the_names(
    mqkit: Any, reference_broker: Any, tmp_path: Path, unique: Unique
) -> None:
    queue = unique("q")
    refused = topology("amq.topic", queue)
    refused["topic_permissions"] = [{"user": "who"}]
    (tmp_path / "refused.json").write_text(json.dumps(refused))
    refused["exchanges"][0]["type"] = "fanout"
    (tmp_path / "refused.json").write_text(json.dumps(refused))
    answer = mqkit("broker", "import-definitions", "refused.json", *at(reference_broker))
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    assert "HTTP 400: nothing was imported: topic_permissions, 'who': " in answer.stderr
    assert "exchange 'amq.topic': PRECONDITION_FAILED" in answer.stderr
    exported = mqkit("broker", "export-definitions", *at(reference_broker)).stdout
    assert queue not in exported


@pytest.mark.rabbitmq
def test_rabbitmqs_refusal_is_words_too(
    rabbitmq_broker: Any, mqkit: Any, tmp_path: Path, unique: Unique
) -> None:
    refused = topology(unique("x"), unique("q"))
    refused["exchanges"][0]["type"] = "nonsense"
    (tmp_path / "refused.json").write_text(json.dumps({"exchanges": refused["exchanges"]}))
    answer = mqkit("broker", "import-definitions", "refused.json", *at(rabbitmq_broker))
    assert answer.returncode == 1
    assert "exchange type 'nonsense'" in answer.stderr


def test_a_bad_file_is_found_before_anything_is_sent(mqkit: Any, tmp_path: Path) -> None:
    nowhere = ["--management-url", "http://127.0.0.1:1"]
    (tmp_path / "bad.json").write_text('{"queues": [5]}')
    answer = mqkit("broker", "import-definitions", "bad.json", *nowhere)
    assert (answer.returncode, answer.stderr) == (
        1, "mqkit: bad.json: queues, item 1 is not an object\n",
    )  # fmt: skip
    answer = mqkit("broker", "import-definitions", "-", *nowhere, stdin="queues: 5")
    assert (answer.returncode, answer.stderr) == (
        1, "mqkit: stdin: not JSON: Expecting value (line 1, column 1)\n",
    )  # fmt: skip
    answer = mqkit("broker", "import-definitions", "nothing.json", *nowhere)
    assert (answer.returncode, answer.stderr) == (
        1, "mqkit: nothing.json: No such file or directory (check the path)\n",
    )  # fmt: skip


def test_an_export_that_fails_leaves_the_last_one(mqkit: Any, tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("kept")
    answer = mqkit(
        "broker", "export-definitions", "kept.json", "--management-url", "http://127.0.0.1:1"
    )
    assert answer.returncode == 1
    assert answer.stderr.startswith("mqkit: no management API at http://127.0.0.1:1")
    assert (tmp_path / "kept.json").read_text() == "kept"


def test_the_environment_names_the_broker(mqkit: Any, reference_broker: Any) -> None:
    place = reference_broker.management_url
    answer = mqkit("broker", "export-definitions", MQKIT_MANAGEMENT_URL=place)
    assert answer.returncode == 0
    answer = mqkit("broker", "export-definitions")
    assert answer.returncode == 1
    assert "no broker: give --url" in answer.stderr
