"""Definitions files: what is taken of them, what is left out, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.topology import compile_topology, loads
from mqkit.topology.exporting import definitions as module
from mqkit.topology.exporting.definitions import import_definitions
from mqkit.topology.file.document import MAX_ITEMS

SECRET = "hash-of-a-password"


def queue(name: str, vhost: str = "/", **arguments: Any) -> dict[str, Any]:
    common = {"name": name, "vhost": vhost, "durable": True, "auto_delete": False}
    return {**common, "arguments": {key.replace("_", "-"): arguments[key] for key in arguments}}


def exchange(name: str, vhost: str = "/") -> dict[str, Any]:
    return {**queue(name, vhost), "type": "topic", "internal": False}


def binding(source: str, destination: str, vhost: str = "/") -> dict[str, Any]:
    return {
        **{"source": source, "vhost": vhost, "destination": destination, "arguments": {}},
        **{"destination_type": "queue", "routing_key": "#"},
    }


DEFINITIONS: dict[str, Any] = {
    "rabbit_version": "3.10.8",
    "users": [{"name": "guest", "password_hash": SECRET, "tags": ["administrator"]}],
    "permissions": [{"user": "guest", "vhost": "/", "configure": ".*"}],
    "topic_permissions": [],
    "global_parameters": [{"name": "cluster_name", "value": "rabbit@here"}],
    "parameters": [],
    "vhosts": [{"name": "/"}, {"name": "shop"}],
    "exchanges": [exchange("mail"), exchange("orders", "shop"), exchange("amq.own")],
    "queues": [
        queue("email"),
        queue("email.parked"),
        queue(
            "email.retry.1s",
            x_message_ttl=1000,
            x_dead_letter_exchange="",
            x_dead_letter_routing_key="email",
        ),
        queue("orders", "shop"),
    ],
    "bindings": [binding("mail", "email"), binding("orders", "orders", "shop")],
    "policies": [
        {
            **{"vhost": "/", "name": "cap", "pattern": "^email$", "apply-to": "queues"},
            **{"priority": 3, "definition": {"max-length": 10, "overflow": "drop-head"}},
        },
        {
            **{"vhost": "shop", "name": "x", "pattern": "", "apply-to": "all"},
            **{"definition": {"max-in-memory-length": 1}},
        },
    ],
}

TOPOLOGY = """\
vhost: "/"
exchanges:
  mail:
    type: topic
queues:
  email:
    bind:
      - {from: mail, key: "#"}
    retry: {after: [1s], then: park}
"""
POLICIES = """\
policies:
  cap:
    pattern: "^email$"
    apply_to: queues
    priority: 3
    definition: {max-length: 10, overflow: drop-head}
"""


def document(**changes: Any) -> bytes:
    return json.dumps({**DEFINITIONS, **changes}).encode()


def refusal(found: bytes, vhost: str | None = "/") -> str:
    with pytest.raises(ConfigurationError) as error:
        import_definitions(found, vhost)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_one_vhost_becomes_a_file_with_its_retries_folded() -> None:
    imported = import_definitions(document(), "/")
    assert imported.text == TOPOLOGY + POLICIES
    assert [policy.name for policy in imported.snapshot.policies] == ["cap"]
    declared = {str(item) for item in compile_topology(loads(TOPOLOGY))}
    assert {str(item) for item in imported.snapshot.declarations} == declared


def test_what_is_left_out_is_counted_and_no_hash_is_in_the_text() -> None:
    imported = import_definitions(document(), "/")
    assert imported.left_out == {"users": 1, "permissions": 1, "global_parameters": 1}
    assert SECRET not in imported.text


def test_another_vhost_has_its_own() -> None:
    imported = import_definitions(document(), "shop")
    assert [item.queue.name for item in imported.snapshot.queues] == ["orders"]
    assert imported.text.startswith("vhost: shop\n")
    assert "    definition: {max-in-memory-length: 1}\n" in imported.text


@pytest.mark.parametrize("named", [None, "shop"])
def test_the_definitions_of_a_single_vhost_do_not_name_it(named: str | None) -> None:
    own = {
        kind: [{key: row[key] for key in row if key != "vhost"} for row in DEFINITIONS[kind][:1]]
        for kind in module.OBJECTS
    }
    imported = import_definitions(json.dumps(own).encode(), named)
    assert imported.snapshot.vhost == (named or "/")
    assert [item.queue.name for item in imported.snapshot.queues] == ["email"]


def test_one_vhost_with_objects_need_not_be_named() -> None:
    only = {kind: DEFINITIONS[kind][:1] for kind in module.OBJECTS}
    assert import_definitions(document(**only)).snapshot.vhost == "/"
    empty: dict[str, Any] = {kind: [] for kind in module.OBJECTS}
    assert import_definitions(document(**empty, vhosts=[{"name": "a"}])).snapshot.vhost == "a"


@pytest.mark.parametrize(
    ("found", "vhost", "said"),
    [
        (b"", "/", "not JSON: Expecting value (line 1, column 1)"),
        (b'{"queues": [\n}', "/", "not JSON: Expecting value (line 2, column 1)"),
        (b"\xff", "/", "not JSON: not UTF-8 text, or nested too deeply"),
        (b"[" * 100_000, "/", "not JSON: not UTF-8 text, or nested too deeply"),
        (b'{"queues": [' + b"9" * 5000 + b"]}", "/", "not JSON: not UTF-8 text"),
        (b"[]", "/", "not a RabbitMQ definitions file (expected a JSON object with exchanges,"),
        (b'{"openapi": "3"}', "/", "not a RabbitMQ definitions file"),
        (b'{"queues": {}}', "/", "queues is not a list of objects"),
        (b'{"queues": [5]}', "/", "queues is not a list of objects"),
        (b'{"queues": [{}]}', "/", "queues, item 1: name is not as in a definitions file"),
        (b'{"queues": [], "users": 5}', "/", "users is not a list of objects"),
        (document(), None, "it has 2 vhosts, of which one makes a topology: name it with --vhost"),
        (document(), "x", "there is no vhost 'x' in it (it has '/', 'shop')"),
        (document(queues=[{**queue("q"), "durable": 1}]), "/", "queues: 'q': durable is not as"),
        (document(queues=[{**queue("q"), "arguments": []}]), "/", "queues: 'q': arguments is"),
        (document(bindings=[{"source": "a"}]), "/", "bindings, item 1: destination is not as"),
        (document(exchanges=[queue("e")]), "/", "exchanges: 'e': type is not as"),
        (document(policies=[{"name": "p"}]), "/", "policies: 'p': pattern is not as"),
        (
            document(policies=[{"name": "p", "pattern": "", "apply-to": "cats"}]),
            *("/", "policies: 'p': apply-to is not as"),
        ),
    ],
)
def test_what_is_no_definitions_file_is_one_line(
    found: bytes, vhost: str | None, said: str
) -> None:
    assert refusal(found, vhost).startswith(said)


def test_the_bound_on_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DEFINITIONS_BYTES", len(document()))
    import_definitions(document(), "/")
    assert "larger than" in refusal(document() + b" ")


def test_the_bound_on_objects_of_a_vhost() -> None:
    many = [queue(f"q{n}") for n in range(MAX_ITEMS + 1)]
    said = refusal(document(queues=many))
    assert said == f"the vhost '/' has {MAX_ITEMS + 1} queues; a topology has at most {MAX_ITEMS}"
    others = [{**row, "vhost": "shop"} for row in many]
    assert (
        "retry: " in import_definitions(document(queues=DEFINITIONS["queues"] + others), "/").text
    )


def test_names_stay_names() -> None:
    odd = ["a: b", "${HOME}", "é", "true", "- x", '"];<script>']
    imported = import_definitions(document(queues=[queue(name) for name in odd], bindings=[]), "/")
    found = loads(imported.text, variables={"HOME": "/"}).queues
    assert {model.name for model in found} == set(odd)


def test_what_mqkit_refuses_is_said_at_the_top() -> None:
    ring = {**binding("mail", "mail"), "destination_type": "exchange"}
    text = import_definitions(document(bindings=[ring]), "/").text
    assert text.startswith("# mqkit refuses this: exchanges.mail.bind: a ring of bindings")


@given(
    st.dictionaries(
        st.sampled_from([*module.OBJECTS, "vhosts", "users"]),
        st.lists(
            st.dictionaries(
                st.sampled_from(["name", "vhost", "source", "destination", "arguments", "pattern"]),
                st.none() | st.text(max_size=3) | st.integers() | st.just({"a": [1]}),
            )
        ),
    )
)
def test_nothing_raises_but_a_configuration_error(found: dict[str, Any]) -> None:
    try:
        text = import_definitions(json.dumps(found).encode()).text
    except ConfigurationError as error:
        text = str(error)
    assert text
