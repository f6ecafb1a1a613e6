"""The mistakes of a first hour: each is exit code 1, three lines at most, and says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

LINES_MAX = 3
NOBODY = "127.0.0.1:1"
SECRET = "sesame"


@dataclass(frozen=True, slots=True)
class Places:
    """The addresses of a broker, for command lines."""

    amqp: str
    http: str

    @property
    def named(self) -> dict[str, str]:
        """``{url}`` and the like in a command line."""
        return {
            "url": f"amqp://{self.amqp}/",
            "nobody": f"amqp://{NOBODY}/",
            "http_for_amqp": f"amqp://{self.http}/",
            "wrong_user": f"amqp://guest:{SECRET}@{self.amqp}/",
            "wrong_vhost": f"amqp://{self.amqp}/shop",
            "management": f"http://{self.http}",
            "no_management": f"http://{NOBODY}",
            "amqp_for_http": f"http://{self.amqp}",
            "wrong_manager": f"http://guest:{SECRET}@{self.http}",
        }


@pytest.fixture
def places(reference_broker: Any) -> Places:
    return Places(
        urlsplit(reference_broker.url).netloc.rpartition("@")[2],
        urlsplit(reference_broker.management_url).netloc.rpartition("@")[2],
    )


@pytest.fixture(autouse=True)
def files(mqkit: Any, tmp_path: Path) -> None:
    """The files that the command lines name. (``mqkit`` has gone to ``tmp_path``.)"""
    (tmp_path / "topology.yaml").write_text("queues:\n  orders: {}\n")
    (tmp_path / "broken.yaml").write_text("queues: [\n")
    (tmp_path / "words.yaml").write_text("just some words\n")
    (tmp_path / "mistyped.yaml").write_text("queue:\n  orders: {}\n")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\n{"a":\n')
    (tmp_path / "folder").mkdir()


WRONG_PORT = [
    ("consume orders --url {nobody}", "check host and port of --url"),
    ("publish flights key body --url {nobody}", "check host and port of --url"),
    ("dlq peek orders.parked --url {nobody}", "check host and port of --url"),
    ("dlq replay orders.parked --url {nobody}", "check host and port of --url"),
    ("dlq purge orders.parked --yes --url {nobody}", "check host and port of --url"),
    ("dlq ls --url {url} --management-url {no_management}", "--management-url"),
    ("topology plan --url {url} --management-url {no_management}", "--management-url"),
    ("topology apply --url {nobody} --management-url {management}", "check host and port of --url"),
    ("topology export --management-url {no_management}", "--management-url"),
    (
        "publish flights key body --url {http_for_amqp} --timeout 0.1",
        "usually on port 5672",
    ),
    ("dlq peek orders.parked --url {http_for_amqp} --timeout 0.1", "usually on port 5672"),
    ("topology plan --url {url} --management-url {amqp_for_http}", "15672"),
    ("broker export-definitions --management-url {no_management}", "--management-url"),
]

WRONG_LOGIN = [
    ("consume orders --url {wrong_user}", "check the user name and the password of --url"),
    ("publish flights key body --url {wrong_user}", "check the user name and the password"),
    ("dlq peek orders.parked --url {wrong_user}", "check the user name and the password"),
    ("topology apply --url {wrong_user} --management-url {management}", "password"),
    ("topology plan --management-url {wrong_manager}", "password"),
    ("dlq ls --url {url} --management-url {wrong_manager}", "password"),
    ("broker export-definitions --management-url {wrong_manager}", "password"),
]

WRONG_VHOST = [
    ("consume orders --url {wrong_vhost}", "check the vhost, which is the path of --url"),
    ("publish flights key body --url {wrong_vhost}", "check the vhost"),
    ("dlq replay orders.parked --url {wrong_vhost}", "check the vhost"),
    ("dlq ls --url {wrong_vhost} --management-url {management}", "the vhost of --url"),
    ("topology plan --url {wrong_vhost} --management-url {management}", "the vhost of --url"),
]

NOT_THERE = [
    ("consume nowhere --url {url}", "check the name, and the vhost of --url"),
    ("publish nowhere key body --url {url}", "check the exchange's name, and the vhost of --url"),
    (
        "publish amq.topic nowhere body --url {url}",
        "no queue is bound for the routing key",
    ),
    ("dlq peek nowhere.parked --url {url}", "check the name, and the vhost of --url"),
    ("dlq replay nowhere.parked --url {url}", "check the name, and the vhost of --url"),
    ("dlq purge nowhere.parked --yes --url {url}", "check the name, and the vhost of --url"),
    ("dlq purge orders --yes --url {url}", "names end in .parked"),
    ("dlq replay orders --url {url}", "say where to replay to"),
    ("consume orders", "give --url amqp://HOST/ or set MQKIT_URL"),
]

FILES = [
    ("topology validate -f nothing.yaml", "no file nothing.yaml: name the topology with --file"),
    ("topology validate -f nothing.yaml --json", "name the topology with --file FILE"),
    ("topology plan -f nothing.yaml", "name the topology with --file FILE"),
    ("topology apply -f folder", "folder is a directory: name the topology's file with --file"),
    ("topology diff -f broken.yaml", "broken.yaml:2: not YAML: "),
    ("topology plan -f words.yaml", "words.yaml:1: "),
    ("topology plan -f mistyped.yaml", "did you mean 'queues'?"),
    ("topology plan -f bytes.yaml", "bytes.yaml:1: not UTF-8 text"),
    ("topology export -f topology.yaml --management-url {management}", "name a new file"),
    ("topology export -f no/where.yaml --management-url {management}", "check the path"),
    ("publish flights key --file nothing.jsonl --url {url}", "nothing.jsonl: No such file"),
    ("publish flights key --file folder --url {url}", "(name a file in it)"),
    ("publish flights key --file broken.jsonl --url {url}", "broken.jsonl:2: not JSON: "),
    ("broker run --config nothing.yaml", "name a YAML file with --config"),
    ("broker run --config folder", "name a YAML file with --config"),
    ("broker run --config broken.yaml", "broken.yaml:2: not YAML: "),
    ("broker import-definitions nothing.json --url {url}", "(check the path)"),
    ("broker import-definitions folder --url {url}", "(name a file in it)"),
    ("broker import-definitions broken.yaml --url {url}", "not JSON"),
    ("demo --input nothing.jsonl", "nothing.jsonl: can't be read"),
]

MISTYPED = [
    ("consum orders", "Did you mean 'consume'"),
    ("consume orders --urll {url}", "--url"),
    ("consume orders --count many --url {url}", "--count"),
    ("consume orders more --url {url}", "mqkit consume --help"),
    ("publish flights", "ROUTING_KEY"),
    ("dlq", "peek"),
    ("dlq pek orders.parked", "mqkit dlq --help"),
    ("topology plan --fiel topology.yaml", "--file"),
    ("broker run --lisen 127.0.0.1:0", "--listen"),
    ("consume orders --url 127.0.0.1:5672", "amqp://"),
    ("consume orders --url http://127.0.0.1:15672", "amqp://"),
    ("topology plan --management-url 127.0.0.1:15672", "http://"),
]

GROUPS_SHOW_THEIR_HELP = ("dlq",)


@pytest.mark.parametrize(
    ("line", "said"),
    [*WRONG_PORT, *WRONG_LOGIN, *WRONG_VHOST, *NOT_THERE, *FILES, *MISTYPED],
)
def test_a_mistake_is_told_with_what_to_do(
    mqkit: Any, places: Places, line: str, said: str
) -> None:
    answer = mqkit(*line.format(**places.named).split())
    assert answer.returncode == 1
    assert said in answer.stderr
    if line not in GROUPS_SHOW_THEIR_HELP:
        assert answer.stderr.startswith("mqkit: ")
        assert answer.stderr.count("\n") <= LINES_MAX
    assert "Traceback" not in answer.stderr
    assert "defect" not in answer.stderr
    assert SECRET not in answer.stdout + answer.stderr
