"""Files: what is read, and what is said of every fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import TopologyError
from mqkit.retry.policy import RetryPolicy
from mqkit.retry.then import Then
from mqkit.topology.file.fault import MAX_FAULTS_SHOWN
from mqkit.topology.file.read import check, check_files, load, loads
from mqkit.topology.model import (
    Bind,
    DeadLetter,
    ExchangeModel,
    Overflow,
    QueueModel,
    QueueType,
    Topology,
)

FLIGHTS = """\
exchanges:
  flights: {type: topic}
queues:
  delays:
    bind: [{from: flights, key: "*.late"}]
    max_length: 100000
    retry: {after: [1s, 5s, 30s, 5m], then: park}
"""


def said(text: str) -> list[str]:
    return [fault.show("topology.yaml") for fault in check(text)[1]]


def test_the_example_of_the_documentation() -> None:
    assert loads(FLIGHTS) == Topology(
        exchanges=(ExchangeModel("flights", type="topic"),),
        queues=(
            QueueModel(
                "delays",
                bind=(Bind("flights", "*.late"),),
                max_length=100_000,
                retry=RetryPolicy.of("1s", "5s", "30s", "5m"),
            ),
        ),
    )


def test_every_key() -> None:
    topology = loads(
        """
vhost: /shop
exchanges:
  in: {type: headers, durable: false, auto_delete: true, internal: true, alternate: lost}
  lost: {type: fanout, bind: [{from: in, arguments: {x-match: any, tenant: 7}}]}
  other: {external: true}
  later: {type: x-delayed-message, arguments: {x-delayed-type: direct}}
  orders: {type: topic, delays: [1h, 5m, 300s]}
queues:
  all:
    type: quorum
    bind: [{from: in, arguments: {deep: [1, {a: true}]}}, {from: amq.topic, key: "#"}]
    max_length: 1_000
    max_length_bytes: 5000
    overflow: drop-head
    message_ttl: 5s
    expires: 1h
    max_priority: 9
    dead_letter: {exchange: "", key: rest}
    arguments: {x-single-active-consumer: true}
  rest: {durable: false, exclusive: true, auto_delete: true}
  plain:
  retried: {retry: {after: [1s], then: drop}}
"""
    )
    assert topology.vhost == "/shop"
    in_, lost, other, later, orders = topology.exchanges
    assert (in_.type, in_.durable, in_.auto_delete, in_.internal) == ("headers", False, True, True)
    assert in_.alternate == "lost"
    assert lost.bind == (Bind("in", "", {"x-match": "any", "tenant": 7}),)
    assert other.external
    assert later == ExchangeModel(
        "later", type="x-delayed-message", arguments={"x-delayed-type": "direct"}
    )
    assert orders.delays == (300_000, 3_600_000)  # each once, shortest first
    all_, rest, plain, retried = topology.queues
    assert all_ == QueueModel(
        "all",
        type=QueueType.QUORUM,
        bind=(Bind("in", "", {"deep": [1, {"a": True}]}), Bind("amq.topic", "#")),
        max_length=1_000,
        max_length_bytes=5_000,
        overflow=Overflow.DROP_HEAD,
        message_ttl_ms=5_000,
        expires_ms=3_600_000,
        max_priority=9,
        dead_letter=DeadLetter("", "rest"),
        arguments={"x-single-active-consumer": True},
    )
    assert (rest.durable, rest.exclusive, rest.auto_delete) == (False, True, True)
    assert plain == QueueModel("plain")
    assert retried.retry == RetryPolicy((1_000,), Then.DROP)


def test_the_smallest_file() -> None:
    assert loads("{}") == Topology()


@pytest.mark.parametrize(
    ("was", "instead", "expected"),
    [
        (
            "5m]",
            "5 parsecs]",
            "topology.yaml:7: queues.delays.retry.after[3]: '5 parsecs' is not a duration"
            " (expected something like 200ms, 5s, 0.5s, 1m30s, 2h)",
        ),
        (
            "max_length",
            "max_lenght",
            "topology.yaml:6: queues.delays: unknown key 'max_lenght' (did you mean 'max_length'?)",
        ),
        (
            "queues:",
            "queue:",
            "topology.yaml:3: unknown key 'queue' (did you mean 'queues'?)",
        ),
        (
            "type: topic",
            "type: topik",
            "topology.yaml:2: exchanges.flights.type: 'topik' is not known here"
            " (did you mean 'topic'?)",
        ),
        (
            "100000",
            "lots",
            "topology.yaml:6: queues.delays.max_length: 'lots' is not a whole number from 0 to"
            " 9223372036854775807",
        ),
        (
            "100000",
            "true",
            "topology.yaml:6: queues.delays.max_length: true is not a whole number from 0 to"
            " 9223372036854775807",
        ),
        (
            "then: park",
            "then: wait",
            "topology.yaml:7: queues.delays.retry.then: 'wait' is not known here"
            " (expected one of park, drop)",
        ),
        (
            "[1s, 5s, 30s, 5m]",
            "5s",
            "topology.yaml:7: queues.delays.retry.after: '5s' is not a list of waiting times like"
            " [1s, 5s, 30s]",
        ),
        (
            "[1s, 5s, 30s, 5m]",
            "[5s, 1s]",
            "topology.yaml:7: queues.delays.retry.after: waiting times must not fall: 1s comes"
            " after 5s",
        ),
        (
            "[1s, 5s, 30s, 5m]",
            "[]",
            "topology.yaml:7: queues.delays.retry.after: a retry policy has 1 to 32 waiting times,"
            " this one 0",
        ),
        (
            "[1s, 5s, 30s, 5m]",
            "[0s]",
            "topology.yaml:7: queues.delays.retry.after[0]: '0s' is too short"
            " (expected at least 1ms)",
        ),
        (
            "after: [1s, 5s, 30s, 5m], ",
            "",
            "topology.yaml:7: queues.delays.retry: 'after' is missing"
            " (expected waiting times like [1s, 5s, 30s], or 'from' and 'times')",
        ),
        (
            "from: flights, ",
            "",
            "topology.yaml:5: queues.delays.bind[0]: 'from' is missing (expected an exchange)",
        ),
        (
            '[{from: flights, key: "*.late"}]',
            "flights",
            "topology.yaml:5: queues.delays.bind: 'flights' is not a list of bindings like"
            ' {from: flights, key: "*.late"}',
        ),
        (
            '"*.late"',
            "5",
            "topology.yaml:5: queues.delays.bind[0].key: 5 is not text"
            " (quote it if it is a number)",
        ),
        (
            '"*.late"',
            "x" * 256,
            "topology.yaml:5: queues.delays.bind[0].key: 256 bytes long, over AMQP's limit of 255",
        ),
    ],
)
def test_a_fault_tells_file_line_what_was_found_and_what_was_expected(
    was: str, instead: str, expected: str
) -> None:
    assert was in FLIGHTS
    assert said(FLIGHTS.replace(was, instead)) == [expected]


@pytest.mark.parametrize(
    "text",
    ["5", "[]", "exchanges: 5", "queues: []", "queues: {a: 5}", "queues: {a: {retry: 5}}"],
)
def test_a_value_of_the_wrong_kind_is_one_fault(text: str) -> None:
    assert len(said(text)) == 1


@pytest.mark.parametrize(
    "key",
    [
        *("durable: yes", "dead_letter: {key: a}", "expires: 0s", "max_priority: 256", "bind: [5]"),
        *("arguments: {x-long: 99999999999999999999}", "arguments: [1]", "type: lazy", "retry: 5s"),
    ],
)
def test_wrong_values_of_queue_keys(key: str) -> None:
    (fault,) = said(f"queues:\n  a: {{}}\n  b:\n    {key}\n")
    assert fault.startswith("topology.yaml:4: queues.b")


@pytest.mark.parametrize(
    ("delays", "said_of_it"),
    [
        ("5m", "exchanges.a.delays: '5m' is not a list of times like [5m, 1h]"),
        ("[soon]", "exchanges.a.delays[0]: 'soon' is not a duration"),
        ("[5m, 0s]", "exchanges.a.delays[1]: '0s' is too short (expected at least 1ms)"),
        ("[5]", "exchanges.a.delays[0]: 5 is not a duration"),
    ],
)
def test_wrong_delays(delays: str, said_of_it: str) -> None:
    (fault,) = said(f"exchanges:\n  a:\n    delays: {delays}\n")
    assert fault.startswith(f"topology.yaml:3: {said_of_it}")


def test_an_external_object_has_no_properties() -> None:
    (fault,) = said("exchanges:\n  a: {external: true, type: topic}\n")
    assert "'type' beside external: true" in fault


def test_all_faults_are_told_at_once_sorted_by_line() -> None:
    text = """\
queues:
  a: {max_lenght: 5}
  b: {bind: [{from: nowhere}]}
  c: {retry: {after: [soon]}}
  d: {max_length: 5}
exchanges:
  e: {type: topik}
"""
    lines = [fault.split(":")[1] for fault in said(text)]
    assert lines == ["2", "3", "4", "5", "7"]
    with pytest.raises(TopologyError) as error:
        loads(text, "topology.yaml")
    assert str(error.value).splitlines() == said(text)


def test_what_could_not_be_read_is_not_judged_a_second_time() -> None:
    assert len(said("queues:\n  a: {max_length: 5, overflow: drop-haed}\n")) == 1
    assert len(said("exchange: {}\nqueues:\n  a: {bind: [{from: flights}]}\n")) == 1


def test_very_many_faults_are_counted() -> None:
    text = "queues:\n" + "".join(f"  q{n}: {n}\n" for n in range(MAX_FAULTS_SHOWN + 7))
    with pytest.raises(TopologyError) as error:
        loads(text)
    assert str(error.value).splitlines()[-1] == "topology: and 7 more faults"


def test_files_are_read_and_named(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + FLIGHTS.encode())
    assert load(path) == loads(FLIGHTS)
    path.write_text("queues: 5\n")
    with pytest.raises(TopologyError, match=r"topology\.yaml:1: queues"):
        load(path)
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(TopologyError, match=r"topology\.yaml:2: not UTF-8 text"):
        load(path)
    with pytest.raises(TopologyError, match="can't be read: No such file"):
        load(tmp_path / "nowhere.yaml")


BASE = """\
exchanges:
  ${EXCHANGE:-mail}: {type: topic}
queues:
  email:
    bind: [{from: mail, key: "#"}]
    max_length: ${MOST:-100}
    overflow: drop-head
"""


def test_variables_are_the_environments_or_those_that_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(BASE)
    monkeypatch.setenv("MOST", "7")
    assert load(path).queues[0].max_length == 7
    assert load(path, variables={}).queues[0].max_length == 100
    assert loads(BASE).queues[0].max_length == 100
    assert loads(BASE, variables={"MOST": "8"}).queues[0].max_length == 8
    with pytest.raises(
        TopologyError, match=r"topology:6: queues\.email\.max_length: 'many' is not"
    ):
        loads(BASE, variables={"MOST": "many"})


def test_a_variable_without_a_value_is_one_fault_and_no_name() -> None:
    topology, faults = check("queues:\n  ${Q}:\n    max_length: ${N}\n    typ: 1\n")
    assert [(fault.line, fault.path) for fault in faults] == [
        (2, ""),
        (3, ""),
        (4, "queues.'${Q}'"),
    ]
    assert topology == Topology()


def test_files_are_laid_over_each_other(tmp_path: Path) -> None:
    base, prod, more = (tmp_path / name for name in ("base.yaml", "prod.yaml", "more.yaml"))
    base.write_text(BASE)
    prod.write_text("queues:\n  email:\n    max_length: 5\n  new:\n")
    more.write_text("vhost: /shop\nqueues:\n  email:\n")
    topology = load(base, prod, more, variables={})
    assert topology.vhost == "/shop"
    assert topology.file == f"{base} + {prod} + {more}"
    email, new = topology.queues
    assert (email.max_length, email.overflow) == (5, Overflow.DROP_HEAD)
    assert email.bind == (Bind("mail", "#"),)
    assert new == QueueModel("new")


def test_a_fault_names_the_file_that_said_it(tmp_path: Path) -> None:
    base, prod = tmp_path / "base.yaml", tmp_path / "prod.yaml"
    base.write_text(BASE + "  dangling:\n    bind: [{from: nowhere}]\n  typo: {typ: 1}\n")
    prod.write_text(
        "queues:\n  email:\n    max_length: many\n  plain: {max_length: 5}\n"
        "exchanges:\n  mail: {alternate: lost}\n"
    )
    _, faults = check_files([base, prod], variables={})
    assert [
        fault.show("both").removeprefix(f"{tmp_path}/").split(": ")[:2] for fault in faults
    ] == [
        ["base.yaml:9", "queues.dangling.bind[0].from"],
        ["base.yaml:10", "queues.typo"],
        ["prod.yaml:3", "queues.email.max_length"],
        ["prod.yaml:4", "queues.plain"],
        ["prod.yaml:6", "exchanges.mail.alternate"],
    ]
    with pytest.raises(TopologyError) as error:
        load(base, prod, variables={})
    assert len(str(error.value).splitlines()) == 5


def test_a_file_that_is_no_file_is_a_fault_among_others(tmp_path: Path) -> None:
    _, faults = check_files([tmp_path / "a", tmp_path / "b"])
    assert [fault.file for fault in faults] == [str(tmp_path / "a"), str(tmp_path / "b")]


yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("5s"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("vhost", "exchanges", "queues", "bind", "from", "key", "type", "retry"),
                    *("after", "then", "max_length", "dead_letter", "exchange", "arguments"),
                    *("external", "q", "errors", "times", "jitter", "delays"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def refusal(text: str) -> str | None:
    """The error for a refused text; ``None`` for one that is a topology."""
    try:
        loads(text)
    except TopologyError as error:
        return str(error)
    return None


@given(yaml_values)
def test_no_document_raises_anything_but_a_topology_error(value: object) -> None:
    assert refusal(json.dumps(value)) != ""
    assert refusal(json.dumps({"queues": {"q": value}, "exchanges": value})) != ""


@given(st.text(max_size=200))
def test_no_text_raises_anything_but_a_topology_error(text: str) -> None:
    assert refusal(text) != ""
