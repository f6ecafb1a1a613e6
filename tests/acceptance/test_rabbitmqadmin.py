"""RabbitMQ's own `rabbitmqadmin` prints the same and exits alike with either broker behind it.

The script is the one that RabbitMQ's management plugin hands out, so these tests need a RabbitMQ.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

pytestmark = [pytest.mark.rabbitmq, pytest.mark.slow]

VHOST = "rabbitmqadmin"

COMMANDS = """
declare vhost name={v}
declare user name=ra.user password=secret tags=management
declare permission vhost={v} user=ra.user configure=.* write=.* read=.*
declare permission vhost={v} user=guest configure=.* write=.* read=.*
-V {v} declare exchange name=ra.x type=topic
-V {v} declare exchange name=ra.y type=direct durable=false auto_delete=true internal=true
-V {v} declare exchange name=ra.bad type=nope
-V {v} declare queue name=ra.q
-V {v} declare queue name=ra.ttl durable=false arguments={{"x-message-ttl":60000}}
-V {v} declare queue name=ra.quorum queue_type=quorum
-V {v} declare queue name=ra.q durable=false
-V {v} declare binding source=ra.x destination=ra.q routing_key=a.#
-V {v} declare binding source=ra.x destination=ra.y destination_type=exchange routing_key=z
-V {v} declare binding source=ra.x destination=nowhere routing_key=z
-V {v} declare policy name=ra.p pattern=^ra definition={{"max-length":5}} apply-to=queues priority=2
-V {v} declare policy name=ra.bad pattern=^ra definition={{"max-length":"five"}}
-V {v} declare operator_policy name=ra.o pattern=^ra definition={{"max-length":5}}
-V {v} declare vhost_limit vhost={v} name=max-queues value=100
-V {v} publish exchange=ra.x routing_key=a.b payload=hello
-V {v} publish routing_key=ra.q payload=aGk= payload_encoding=base64 properties={{"priority":1}}
-V {v} publish routing_key=nowhere payload=x
-V {v} get queue=ra.q
-V {v} get queue=ra.q count=2 ackmode=ack_requeue_false
-V {v} get queue=ra.q
-V {v} get queue=nowhere
-V {v} purge queue name=ra.q
-f tsv list vhosts name tracing
-f tsv list permissions vhost user configure write read
-f tsv -V {v} list exchanges name type durable auto_delete internal
-f tsv -V {v} list queues name durable auto_delete arguments.x-message-ttl
-f tsv -V {v} list policies name pattern apply-to priority
-f kvp -V {v} list operator_policies name pattern definition.max-length
-f bash -V {v} list queues
-f tsv -V {v} list vhost_limits
-f raw_json -V {v} list users name tags
-f tsv list connections name
-V {v} list nonsense
-V {v} export {file}
-V {v} import {file}
-V {v} delete binding source=ra.x destination_type=queue destination=ra.q properties_key=a.%23
-V {v} delete policy name=ra.p
-V {v} delete operator_policy name=ra.o
-V {v} delete vhost_limit vhost={v} name=max-queues
-V {v} delete queue name=ra.q
-V {v} delete queue name=nowhere
-V {v} delete exchange name=ra.x
close connection name=nowhere
delete permission vhost={v} user=ra.user
delete user name=ra.user
delete vhost name={v}
-u nobody list queues
""".strip().splitlines()


class Said(NamedTuple):
    """One command with its exit code and output."""

    command: str
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def script(rabbitmq_broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    answer = httpx.get(f"{rabbitmq_broker.management_url}/cli/rabbitmqadmin", trust_env=False)
    file = tmp_path_factory.mktemp("rabbitmqadmin") / "rabbitmqadmin"
    file.write_bytes(answer.raise_for_status().content)
    return file


def run(script: Path, management_url: str, folder: Path) -> list[Said]:
    """All commands, one after the other."""
    place = urlsplit(management_url)
    folder.mkdir()
    start = [sys.executable, str(script), "-H", str(place.hostname), "-P", str(place.port)]
    said = []
    for command in COMMANDS:
        words = command.format(v=VHOST, file="definitions.json").split()
        done = subprocess.run(
            [*start, *words], capture_output=True, text=True, check=False, cwd=folder, timeout=60
        )
        said.append(
            Said(command, done.returncode, _lines_sorted(done.stdout), _last_line(done.stderr))
        )
    return said


def _lines_sorted(out: str) -> str:
    """Neither broker promises an order of what it lists."""
    return "\n".join(sorted(out.splitlines()))


def _last_line(err: str) -> str:
    """Of a traceback the exception, which has the answer's status and reason."""
    return err.strip().rpartition("\n")[2]


def test_prints_the_same_and_exits_alike(
    script: Path, reference_broker: Any, rabbitmq_broker: Any, tmp_path: Path
) -> None:
    theirs = run(script, rabbitmq_broker.management_url, tmp_path / "rabbitmq")
    ours = run(script, reference_broker.management_url, tmp_path / "reference")
    for there, here in zip(theirs, ours, strict=True):
        assert here == there
    assert {said.code for said in ours} == {0, 1}


def test_the_export_of_one_broker_is_imported_by_the_other(
    script: Path, reference_broker: Any, rabbitmq_broker: Any, tmp_path: Path
) -> None:
    file = tmp_path / "definitions.json"

    def admin(broker: Any, *words: str) -> str:
        place = urlsplit(broker.management_url)
        start = [sys.executable, str(script), "-H", str(place.hostname), "-P", str(place.port)]
        done = subprocess.run([*start, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    name = "rabbitmqadmin.moved"
    listing = ("-f", "tsv", "list", "queues", "name", "durable", "arguments.x-max-length")
    try:
        admin(reference_broker, "declare", "queue", f"name={name}", 'arguments={"x-max-length":7}')
        admin(reference_broker, "export", str(file))
        admin(rabbitmq_broker, "import", str(file))
        assert f"{name}\tTrue\t7" in admin(rabbitmq_broker, *listing)
        admin(rabbitmq_broker, "export", str(file))
        admin(reference_broker, "delete", "queue", f"name={name}")
        admin(reference_broker, "import", str(file))
        assert f"{name}\tTrue\t7" in admin(reference_broker, *listing)
    finally:
        for broker in (reference_broker, rabbitmq_broker):
            admin(broker, "delete", "queue", f"name={name}")
