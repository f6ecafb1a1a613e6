"""`mqkit topology import`: a file of definitions becomes a topology file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

COMMON = {"vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
DEFINITIONS = {
    "users": [{"name": "guest", "password_hash": "secret-hash"}],
    "permissions": [{"user": "guest", "vhost": "/"}, {"user": "b", "vhost": "/"}],
    "vhosts": [{"name": "/"}],
    "exchanges": [{**COMMON, "name": "mail", "type": "topic", "internal": False}],
    "queues": [{**COMMON, "name": "email"}],
    "bindings": [
        {**COMMON, "source": "mail", "destination": "email"}
        | {"destination_type": "queue", "routing_key": "a.*"}
    ],
    "policies": [],
}
TEXT = """\
vhost: "/"
exchanges:
  mail:
    type: topic
queues:
  email:
    bind:
      - {from: mail, key: "a.*"}
"""


@pytest.fixture
def definitions(tmp_path: Path) -> Path:
    path = tmp_path / "definitions.json"
    path.write_text(json.dumps(DEFINITIONS))
    return path


def test_it_goes_to_stdout_and_what_is_left_out_is_said(mqkit: Any, definitions: Path) -> None:
    answer = mqkit("topology", "import", definitions.name)
    assert (answer.returncode, answer.stdout) == (0, TEXT)
    assert answer.stderr == "mqkit: left out: 1 user, 2 permissions\n"


def test_it_goes_to_a_new_file_that_is_valid(mqkit: Any, definitions: Path, tmp_path: Path) -> None:
    answer = mqkit("topology", "import", definitions.name, "-o", "topology.yaml", "--vhost", "/")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert answer.stderr.splitlines()[0] == (
        "mqkit: wrote 1 exchange, 1 queue, 1 binding to topology.yaml"
    )
    assert (tmp_path / "topology.yaml").read_text() == TEXT
    assert mqkit("topology", "validate").returncode == 0
    again = mqkit("topology", "import", definitions.name, "--output", "topology.yaml")
    assert again.returncode == 1
    assert again.stderr == (
        "mqkit: topology.yaml is there already: name a new file, or move it away\n"
    )


def test_policies_are_taken_and_counted(mqkit: Any, definitions: Path) -> None:
    policy: dict[str, Any] = {"name": "p", "vhost": "/", "pattern": "a", "apply-to": "all"}
    policy["definition"] = {"max-length": 5}
    definitions.write_text(json.dumps({**DEFINITIONS, "policies": [policy]}))
    answer = mqkit("topology", "import", definitions.name)
    assert answer.stdout.startswith(TEXT)
    assert "policies:\n  p:\n    pattern: a\n    definition: {max-length: 5}\n" in answer.stdout
    answer = mqkit("topology", "import", definitions.name, "-o", "new.yaml")
    assert "1 policy to new.yaml" in answer.stderr


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("queues: {}", [], "d.json: not JSON: Expecting value (line 1, column 1)"),
        ("{}", [], "d.json: not a RabbitMQ definitions file (expected"),
        (
            '{"queues": [{"name": "q", "vhost": "/"}]}',
            ["--vhost", "x"],
            "d.json: there is no vhost",
        ),
        (
            '{"vhosts": [{"name": "a"}, {"name": "b"}], "queues": []}',
            [],
            "d.json: it has 2 vhosts, of which one makes a topology: name it with --vhost",
        ),
    ],
)
def test_bad_input_is_one_line(
    mqkit: Any, tmp_path: Path, text: str, more: list[str], said: str
) -> None:
    (tmp_path / "d.json").write_text(text)
    answer = mqkit("topology", "import", "d.json", *more)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith(f"mqkit: {said}")
    assert answer.stderr.count("\n") == 1


def test_a_file_that_can_not_be_read_is_one_line(mqkit: Any, tmp_path: Path) -> None:
    for name, why in (("none.json", "No such file or directory"), (".", "Is a directory")):
        answer = mqkit("topology", "import", name)
        assert answer.returncode == 1
        assert answer.stderr == f"mqkit: {name}: can't be read: {why}\n"
    with (tmp_path / "huge.json").open("wb") as huge:
        huge.truncate(65 * 1024 * 1024)
    answer = mqkit("topology", "import", "huge.json")
    assert answer.stderr == "mqkit: huge.json: larger than 67108864 bytes, which is the limit\n"
