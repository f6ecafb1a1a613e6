"""The rules of meaning for a whole topology."""

from __future__ import annotations

import pytest

from mqkit.retry.policy import RetryPolicy
from mqkit.topology.file.read import check
from mqkit.topology.model import ExchangeModel, QueueModel, Topology
from mqkit.topology.validation import validate


def said(text: str) -> list[str]:
    return [fault.show("t.yaml") for fault in check(text)[1]]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("queues:\n  a:\n    bind: [{from: flight}]", 3, "no exchange 'flight' in this file"),
        ("queues:\n  a:\n    bind:\n      - {from: ''}", 4, "bound to the default exchange"),
        ("exchanges:\n  a:\n    alternate: b", 3, "no exchange 'b'"),
        ("queues:\n  a:\n    dead_letter: {exchange: x}", 3, "no exchange 'x'"),
        ("queues:\n  a:\n    dead_letter: {exchange: '', key: x}", 3, "no queue 'x'"),
        (
            "queues:\n  a:\n    arguments: {x-dead-letter-exchange: x}",
            3,
            "no exchange 'x'",
        ),
        ("exchanges:\n  a: {bind: [{from: a}]}", 2, "(a -> a)"),
        (
            "exchanges:\n  a: {bind: [{from: b}]}\n  b: {bind: [{from: c}]}\n"
            "  c: {bind: [{from: a}]}",
            2,
            "ring of bindings",
        ),
        (
            "exchanges:\n  a: {alternate: b}\n  b:\n    type: topic\n    alternate: a",
            2,
            "ring of alternate exchanges",
        ),
        (
            "exchanges:\n  a:\n    type: x-delayed-message\n    delays: [5m]",
            4,
            "which has any delay: leave it out",
        ),
        ("exchanges:\n  a:\n    durable: false\n    delays: [5m]", 4, "(durable: false)"),
        ("exchanges:\n  a:\n    auto_delete: true\n    delays: [5m]", 4, "(auto_delete: true)"),
        ("exchanges:\n  a:\n    internal: true\n    delays: [5m]", 4, "nobody publishes to"),
        (
            "exchanges:\n  a:\n    delays: [" + ", ".join(f"{n}s" for n in range(1, 34)) + "]",
            3,
            "at most 32 delays, this one 33",
        ),
        (f"exchanges:\n  {'x' * 247}:\n    delays: [5m]", 3, "name of 256 bytes"),
        (
            "exchanges:\n  a: {delays: [5m]}\n  a.delay.5m: {}",
            3,
            "a delay of the exchange 'a' makes an exchange of this name",
        ),
        (
            "exchanges:\n  a: {delays: [5m]}\nqueues:\n  a.delay.5m: {}",
            4,
            "a delay of the exchange 'a' makes a queue of this name",
        ),
        (
            "exchanges:\n  a: {delays: [5m]}\nqueues:\n  b: {bind: [{from: a.delay.5m}]}",
            4,
            "no exchange 'a.delay.5m'",
        ),
        (
            "queues:\n  a: {retry: {after: [1s], errors: {KeyError: [5s]}}}\n  a.retry.5s:",
            3,
            "the retry policy of 'a' makes a queue of this name",
        ),
        ("exchanges:\n  amq.mine:", 2, "reserved"),
        ("queues:\n  amq.mine:", 2, "reserved"),
        ("queues:\n  '':", 2, "empty name"),
        ("exchanges:\n  '': {external: true}", 2, "do not list it"),
        (f"queues:\n  {'q' * 256}:", 2, "over AMQP's limit of 255"),
        (
            f"queues:\n  {'q' * 248}:\n    retry: {{after: [1s]}}",
            3,
            "would have a name of 257 bytes",
        ),
        (
            "queues:\n  a: {retry: {after: [1s]}}\n  a.retry.1s:",
            3,
            "the retry policy of 'a' makes a queue of this name",
        ),
        ("queues:\n  a: {retry: {after: [1s]}}\n  a.parked:", 3, "makes a queue of this name"),
        (
            "queues:\n  a:\n    message_ttl: 5s\n    arguments: {x-message-ttl: 4}",
            4,
            "4 contradicts the other keys, which make it 5000",
        ),
        (
            "queues:\n  a:\n    max_length: 5\n    arguments: {x-dead-letter-exchange: '',"
            " x-dead-letter-routing-key: b}\n    retry: {after: [1s]}\n  b:",
            4,
            "contradicts",
        ),
        ("queues:\n  a:\n    max_length: 5", 3, "'overflow: drop-head'"),
        ("queues:\n  a:\n    max_length_bytes: 5", 3, "'overflow: reject-publish'"),
        (
            "queues:\n  a:\n    max_length: 5\n    retry: {after: [1s], then: drop}",
            3,
            "without a parking lot",
        ),
        (
            "queues:\n  a:\n    max_length: 5\n    overflow: reject-publish\n"
            "    retry: {after: [1s]}",
            4,
            "a message whose waiting time is over would be refused by the full queue and lost",
        ),
        (
            "queues:\n  a:\n    retry: {after: [1s]}\n    arguments: {x-overflow: reject-publish}",
            4,
            "'overflow: reject-publish' together with retry tiers",
        ),
        ("queues:\n  a:\n    durable: false\n    retry: {after: [1s]}", 4, "durable: false"),
        ("queues:\n  a:\n    exclusive: true\n    retry: {after: [1s]}", 4, "exclusive: true"),
        ("queues:\n  a:\n    auto_delete: true\n    retry: {after: [1s]}", 4, "auto_delete"),
        ("queues:\n  a:\n    expires: 1h\n    retry: {after: [1s]}", 4, "can go away (expires)"),
        ("queues:\n  a:\n    type: stream\n    retry: {after: [1s]}", 4, "retry on a stream"),
        ("queues:\n  a: {type: quorum, durable: false}", 2, "a quorum queue is durable"),
        (
            "queues:\n  a:\n    message_ttl: 5s\n    dead_letter: {exchange: '', key: a}",
            4,
            "(a -> a)",
        ),
        (
            "exchanges:\n  x: {type: topic}\nqueues:\n"
            "  a: {message_ttl: 5s, dead_letter: {exchange: x, key: a.dead}}\n"
            "  b: {max_length: 5, dead_letter: {exchange: '', key: a}, "
            "bind: [{from: x, key: '*.dead'}]}",
            4,
            "a ring of dead-lettering with no rejection in it (a -> b -> a)",
        ),
    ],
)
def test_faults_of_meaning_have_the_line_and_the_reason(text: str, line: int, words: str) -> None:
    faults = said(text)
    assert len(faults) == 1
    assert faults[0].startswith(f"t.yaml:{line}: ")
    assert words in faults[0]


@pytest.mark.parametrize(
    "text",
    [
        # Pre-declared and external exchanges may be referred to.
        "queues: {a: {bind: [{from: amq.topic, key: '#'}]}}",
        "exchanges: {x: {external: true}}\nqueues: {a: {bind: [{from: x}]}}",
        "queues: {a: {external: true}, b: {dead_letter: {exchange: '', key: a}}}",
        # A queue that the retry policy makes may be referred to.
        "queues: {a: {retry: {after: [1s]}}, b: {dead_letter: {exchange: '', key: a.parked}}}",
        # As many delays as there may be; the same one twice is one.
        "exchanges: {a: {delays: [1s, 1000ms, " + ", ".join(f"{n}s" for n in range(2, 33)) + "]}}",
        # Overflow is decided, or nothing is lost by it.
        "queues: {a: {max_length: 5, overflow: drop-head}}",
        "queues: {a: {max_length: 5, overflow: reject-publish}}",
        "queues: {a: {max_length: 5, retry: {after: [1s]}}}",
        "queues: {a: {max_length: 5, overflow: drop-head, retry: {after: [1s], then: drop}}}",
        "queues: {a: {max_length: 5, dead_letter: {exchange: '', key: b}}, b: {}}",
        # A raw argument that says the same is no contradiction.
        "queues: {a: {message_ttl: 5s, arguments: {x-message-ttl: 5000}}}",
        # A hand-made retry: the way out of `work` is a rejection.
        "queues:\n  work: {dead_letter: {exchange: '', key: later}}\n"
        "  later: {message_ttl: 5s, dead_letter: {exchange: '', key: work}}",
        # Direct bindings with other keys lead elsewhere.
        "exchanges: {x: {}}\nqueues:\n  a: {message_ttl: 5s, dead_letter: {exchange: x, key: b},"
        " bind: [{from: x, key: a}]}",
        # A diamond is no ring.
        "exchanges: {a: {}, b: {bind: [{from: a}]}, c: {bind: [{from: a}]},"
        " d: {bind: [{from: b}, {from: c}]}}",
    ],
)
def test_what_is_right_is_left_alone(text: str) -> None:
    assert said(text) == []


def test_a_model_made_in_code_is_judged_too() -> None:
    twice = Topology(queues=(QueueModel("a"), QueueModel("a")))
    (fault,) = validate(twice)
    assert "declared twice" in fault.message
    assert fault.show("code") == "code: queues.a: 'a' is declared twice"
    assert validate(Topology(exchanges=(ExchangeModel("\ud800" * 90),)))


def test_a_long_chain_is_no_recursion() -> None:
    chain = [ExchangeModel("e0")]
    chain += [ExchangeModel(f"e{n}", alternate=f"e{n - 1}") for n in range(1, 5_000)]
    assert validate(Topology(exchanges=tuple(chain))) == []


def test_the_longest_name_is_taken() -> None:
    retry = RetryPolicy.of("1s")
    longest = "q" * (255 - len(".retry.1s"))
    assert validate(Topology(queues=(QueueModel(longest, retry=retry),))) == []
    assert len(validate(Topology(queues=(QueueModel(longest + "q", retry=retry),)))) == 1
