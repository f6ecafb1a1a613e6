"""Each dead end of a live broker: found, and gone after the command that was shown.

Every test has a virtual host of its own, so that nothing else is found.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pika
import pytest

WAIT_S = 30


@dataclass(frozen=True, slots=True)
class Patient:
    """A virtual host, what `mqkit` says of it, and its management API."""

    mqkit: Any
    variables: dict[str, str]
    vhost: str
    http: httpx.Client

    def put(self, kind: str, name: str, **fields: Any) -> None:
        answer = self.http.put(
            f"{kind}/{quote(self.vhost, safe='')}/{quote(name, safe='')}", json=fields
        )
        assert answer.is_success, answer.text

    def queue(self, name: str, **arguments: Any) -> None:
        said = {key.replace("_", "-"): value for key, value in arguments.items()}
        self.put("queues", name, durable=True, arguments={f"x-{k}": v for k, v in said.items()})

    def exchange(self, name: str, kind: str = "direct", **arguments: Any) -> None:
        said = {key.replace("_", "-"): value for key, value in arguments.items()}
        self.put("exchanges", name, durable=True, type=kind, arguments=said)

    def bind(self, exchange: str, queue: str, key: str = "") -> None:
        place = f"bindings/{quote(self.vhost, safe='')}/e/{exchange}/q/{queue}"
        answer = self.http.post(place, json={"routing_key": key})
        assert answer.is_success, answer.text

    def has_policy(self, kind: str, name: str) -> bool:
        """RabbitMQ shows a policy that is in force some seconds later."""
        place = f"{kind}/{quote(self.vhost, safe='')}/{quote(name, safe='')}"
        end_s = time.monotonic() + WAIT_S
        while time.monotonic() < end_s:
            if self.http.get(place).json().get("policy") == f"doctor-{name}":
                return True
        return False

    def says(self, *words: str) -> dict[str, Any]:
        answer = self.run("topology", "doctor", "--json", "--least", "warning", *words)
        assert answer.returncode in (0, 2), answer.stderr
        found = {f"{it['check']} {it['name']}": it for it in json.loads(answer.stdout)["findings"]}
        assert (answer.returncode == 2) is bool(found)
        return found

    def run(self, *words: str, stdin: str = "") -> Any:
        return self.mqkit(*words, stdin=stdin, **self.variables)

    def mend(self, finding: dict[str, Any]) -> None:
        """Run the command as it was shown."""
        words = shlex.split(finding["command"])
        stdin = ""
        if words[0] == "printf":
            stdin, words = words[2], words[4:]
        assert words[0] == "mqkit"
        answer = self.run(*words[1:], stdin=stdin)
        assert answer.returncode == 0, answer.stderr


@pytest.fixture
def patient(mqkit: Any, broker: Any, unique: Callable[[str], str]) -> Iterator[Patient]:
    vhost = f"{unique('vhost')}/a b"
    place = httpx.URL(f"{broker.management_url}/api/").copy_with(username="guest", password="guest")
    variables = {
        "MQKIT_URL": broker.url.rstrip("/") + "/" + quote(vhost, safe=""),
        "MQKIT_MANAGEMENT_URL": broker.management_url,
    }
    with httpx.Client(base_url=place, trust_env=False, timeout=30) as http:
        assert http.put(f"vhosts/{quote(vhost, safe='')}").is_success
        rights = {"configure": ".*", "write": ".*", "read": ".*"}
        assert http.put(f"permissions/{quote(vhost, safe='')}/guest", json=rights).is_success
        try:
            yield Patient(mqkit, variables, vhost, http)
        finally:
            http.delete(f"vhosts/{quote(vhost, safe='')}")


def missing_exchange(it: Patient) -> str:
    it.queue("q", dead_letter_exchange="gone")
    return "dead-letter-exchange-missing q"


def unrouted_direct(it: Patient) -> str:
    it.exchange("dlx")
    it.queue("q", dead_letter_exchange="dlx", dead_letter_routing_key="it's dead")
    return "dead-letter-unrouted q"


def unrouted_topic(it: Patient) -> str:
    it.exchange("dlx", "topic")
    it.queue("q", dead_letter_exchange="dlx")
    return "dead-letter-unrouted q"


def unrouted_headers(it: Patient) -> str:
    it.exchange("dlx", "headers")
    it.queue("q", dead_letter_exchange="dlx")
    return "dead-letter-unrouted q"


def no_such_queue(it: Patient) -> str:
    it.queue("q", dead_letter_exchange="", dead_letter_routing_key="gone; rm -rf /")
    return "dead-letter-unrouted q"


def ring(it: Patient) -> str:
    it.queue("a", dead_letter_exchange="", dead_letter_routing_key="b", message_ttl=9)
    it.queue("b", dead_letter_exchange="", dead_letter_routing_key="a", message_ttl=9)
    return "dead-letter-ring a"


def missing_alternate(it: Patient) -> str:
    it.exchange("x", alternate_exchange="gone")
    return "alternate-missing x"


def unbound_topic(it: Patient) -> str:
    it.exchange("x", "topic")
    return "exchange-unbound x"


def ownerless_tier(it: Patient) -> str:
    it.queue("q.retry.5s", dead_letter_exchange="", dead_letter_routing_key="q", message_ttl=5)
    return "owner-gone q.retry.5s"


def ownerless_lot(it: Patient) -> str:
    it.queue("q.parked")
    return "owner-gone q.parked"


GONE_AFTER_IT = [
    *(missing_exchange, unrouted_direct, unrouted_topic, unrouted_headers, no_such_queue, ring),
    *(missing_alternate, unbound_topic, ownerless_tier, ownerless_lot),
]


@pytest.mark.parametrize("dead_end", GONE_AFTER_IT, ids=lambda it: it.__name__)
def test_the_command_mends_it(patient: Patient, dead_end: Callable[[Patient], str]) -> None:
    assert patient.says() == {}
    name = dead_end(patient)
    found = patient.says()
    assert name in found
    patient.mend(found[name])
    left = patient.says()
    # The ring's other half has lost its target; an empty lot of our making is no dead end.
    assert name not in left


def unbound_direct(it: Patient) -> tuple[str, str]:
    it.exchange("x")
    return "exchange-unbound x", "exchanges"


def own_keys(it: Patient) -> tuple[str, str]:
    it.exchange("x")
    it.queue("q", dead_letter_exchange="")
    it.bind("x", "q", "paid")
    return "dead-letter-unrouted q", "queues"


@pytest.mark.parametrize("dead_end", [unbound_direct, own_keys], ids=lambda it: it.__name__)
def test_the_command_mends_it_by_a_policy(
    patient: Patient, dead_end: Callable[[Patient], tuple[str, str]]
) -> None:
    name, kind = dead_end(patient)
    finding = patient.says()[name]
    patient.mend(finding)
    assert patient.has_policy(kind, finding["name"])
    assert name not in patient.says()


@pytest.mark.rabbitmq
@pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True)
def test_quorum_queues_are_mended_by_a_policy(patient: Patient) -> None:
    """The reference broker has classic queues only."""
    patient.queue("q", queue_type="quorum")
    patient.queue("lot")
    patient.queue(
        "p",
        queue_type="quorum",
        dead_letter_strategy="at-least-once",
        dead_letter_exchange="",
        dead_letter_routing_key="lot",
    )
    found = patient.says()
    assert set(found) == {"quorum-drops q", "at-least-once-void p"}
    for finding in found.values():
        patient.mend(finding)
        assert patient.has_policy("queues", finding["name"])
    assert not {"quorum-drops q", "at-least-once-void p"} & set(patient.says())


def test_a_tier_of_an_old_policy(patient: Patient, tmp_path: Path) -> None:
    text = "queues:\n  q:\n    bind: [{from: amq.topic}]\n    retry: {after: [%s], then: drop}\n"
    file = tmp_path / "topology.yaml"
    file.write_text(text % "1s, 5s")
    assert patient.run("topology", "apply").returncode == 0
    assert patient.says("-f", "topology.yaml") == {}
    file.write_text(text % "1s")
    found = patient.says("-f", "topology.yaml")
    assert set(found) == {"tier-left-over q.retry.5s"}
    assert found["tier-left-over q.retry.5s"]["line"] == 4
    patient.mend(found["tier-left-over q.retry.5s"])
    assert patient.says("-f", "topology.yaml") == {}


def test_what_the_file_has_is_mended_by_an_apply(patient: Patient, tmp_path: Path) -> None:
    text = (
        "exchanges:\n  dlx: {type: fanout}\nqueues:\n  lot: {bind: [{from: dlx}]}\n"
        "  q: {bind: [{from: amq.topic}], dead_letter: {exchange: dlx}}\n"
    )
    (tmp_path / "topology.yaml").write_text(text)
    patient.queue("q", dead_letter_exchange="dlx")
    found = patient.says("-f", "topology.yaml")
    finding = found["dead-letter-exchange-missing q"]
    assert finding["command"] == "mqkit topology apply -f topology.yaml"
    assert finding["line"] == 5
    patient.mend(finding)
    assert patient.says("-f", "topology.yaml") == {}


def test_a_queue_that_the_broker_has_named_is_bound(patient: Patient) -> None:
    """As subscribers of a fanout exchange are."""
    patient.exchange("news", "fanout")
    assert set(patient.says()) == {"exchange-unbound news"}
    with pika.BlockingConnection(pika.URLParameters(patient.variables["MQKIT_URL"])) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, "news")
        assert patient.says() == {}
