"""A file, a broker, and both compared."""

from __future__ import annotations

from typing import Any

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology import examine, loads

FILE = "exchanges:\n  x: {type: topic}\nqueues:\n  q: {bind: [{from: x, key: a}]}\n"


def test_nothing_is_wrong_with_a_sound_topology(of_file: Any, live: Any) -> None:
    sound = live(Exchange("x", "topic"), Queue("q"), Binding("x", "q", "a"))
    assert of_file(FILE) == {}
    assert of_file(FILE, sound) == {}


def test_what_a_broker_lacks_and_the_file_has_is_mended_by_an_apply(
    of_file: Any, live: Any
) -> None:
    finding = of_file(FILE, live(Exchange("x", "topic")))["exchange-unbound", "x"]
    assert finding.mend.command == "mqkit topology apply -f t.yaml"
    assert finding.mend.first == ""
    assert finding.place == "t.yaml:2"


def test_what_both_have_is_said_once_with_the_counts_of_the_broker(of_file: Any, live: Any) -> None:
    both = of_file("queues:\n  q:\n", live(Queue("q"), counts={"q": (3, 0)}))
    assert set(both) == {("queue-unreached", "q"), ("queue-unconsumed", "q")}
    assert both["queue-unreached", "q"].messages == 3
    assert both["queue-unreached", "q"].mend.command == "mqkit topology apply -f t.yaml"


def test_arguments_of_a_live_queue_are_mended_in_place(of_file: Any, live: Any) -> None:
    quorum = live(Queue("q", arguments={"x-queue-type": "quorum"}))
    mend = of_file("queues:\n  q: {type: quorum}\n", quorum)["quorum-drops", "q"].mend
    assert "import-definitions" in mend.command
    assert "retry:" in mend.first


def test_what_somebody_else_should_have_declared(of_file: Any, live: Any) -> None:
    text = "exchanges:\n  x: {external: true}\nqueues:\n  theirs: {external: true}\n"
    said = of_file(text, live(Exchange("x"), Queue("other")))
    missing = {name: finding for (check, name), finding in said.items() if "external" in check}
    assert set(missing) == {"theirs"}
    assert missing["theirs"].place == "t.yaml:4"


def test_the_gravest_come_first_and_the_order_is_fixed() -> None:
    topology = loads("exchanges:\n  b: {}\n  a: {}\nqueues:\n  q:\n  p: {type: quorum}\n")
    found = examine(topology)
    assert [(str(it.severity), it.name) for it in found] == [
        *(("warning", "a"), ("warning", "b"), ("warning", "p")),
        *(("remark", "p"), ("remark", "q")),
    ]
    assert examine(topology) == found
