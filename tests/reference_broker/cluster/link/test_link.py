"""A link between two nodes: from the handshake to the end, with all that goes in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_broker.cluster.link.asks import OPEN_MAX, Answered, Outcome, Unanswered
from reference_broker.cluster.link.frame import Buffer, encode_frame
from reference_broker.cluster.link.handshake import Role
from reference_broker.cluster.link.heartbeats import READING_S, STRICT, Report
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.lane import (
    OWNER_KINDS,
    WINDOWS,
    AskKind,
    ControlKind,
    Lane,
    cost,
)
from reference_broker.cluster.link.link import (
    GREETING_S,
    REASON_BYTES_MAX,
    TURN_BYTES,
    TURN_FRAMES,
)
from reference_broker.cluster.link.link_state import LinkState
from reference_broker.testing.link_pair import LinkEnd, LinkPair, identity

LANES = [Lane.REPLICATION, Lane.PUBLISH, Lane.DELIVER]


def test_messages_of_all_lanes_arrive_in_order() -> None:
    pair = LinkPair().opened()
    for number in range(5):
        for lane in LANES:
            pair.dialer.link.send(lane, number, (b"head", bytes([number]) * number))
            pair.acceptor.link.send(lane, number + 50, (b"back",))
    pair.settle()
    for lane in LANES:
        found = pair.acceptor.received[lane]
        assert found == [(number, b"head" + bytes([number]) * number) for number in range(5)]
        assert pair.dialer.received[lane] == [(number + 50, b"back") for number in range(5)]


def test_the_ends_say_who_they_are() -> None:
    pair = LinkPair()
    assert repr(pair.dialer.link) == "<Link to the other end GREETING>"
    with pytest.raises(AssertionError, match="nobody has proved"):
        _ = pair.dialer.link.peer
    assert [end.link.was_open for end in pair.ends] == [False, False]
    pair.opened()
    assert [end.link.was_open for end in pair.ends] == [True, True]
    assert pair.dialer.link.peer.node == "b"
    assert pair.acceptor.link.peer.address == "10.0.0.1:1"
    assert pair.acceptor.link.version == 1
    assert repr(pair.acceptor.link) == "<Link to node 'a' OPEN>"


def test_control_of_the_owner_goes_to_its_receiver() -> None:
    pair = LinkPair().opened()
    pair.dialer.link.send(Lane.CONTROL, OWNER_KINDS, (b"a ", b"promise"))
    pair.settle()
    assert pair.acceptor.received[Lane.CONTROL] == [(OWNER_KINDS, b"a promise")]
    with pytest.raises(AssertionError, match="control of kind 3 is the link's own"):
        pair.dialer.link.send(Lane.CONTROL, ControlKind.HEARTBEAT, (b"",))


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"cluster": "other"}, "node 'a' is of cluster 'other', node 'b' of 'cluster-1'"),
        ({"node": "b"}, "two nodes are named 'b'"),
        ({"lowest": 2, "highest": 3}, "node 'a' speaks versions 2 to 3 of the link"),
        ({"secret": b"guessed"}, "node 'a' and node 'b' have different cluster secrets"),
    ],
    ids=["cluster", "name", "version", "secret"],
)
def test_a_refusal_is_told_to_both_ends(fields: dict[str, object], line: str) -> None:
    pair = LinkPair(identity(Role.DIALER, **fields))  # type: ignore[arg-type]
    pair.settle()
    assert [end.opened for end in pair.ends] == [0, 0]
    assert [len(end.downs) for end in pair.ends] == [1, 1]
    assert pair.acceptor.downs[0].startswith(line)
    assert " ended the link: " + line in pair.dialer.downs[0]
    assert pair.dialer.link.closed
    assert pair.acceptor.link.closed
    assert "guessed" not in pair.dialer.downs[0] + pair.acceptor.downs[0]


def test_an_older_connection_is_refused() -> None:
    pair = LinkPair()
    pair.acceptor.numbers.admit(identity(Role.DIALER, connection=8).hello)
    pair.settle()
    line = "connection 7 of node 'a' is not newer than its connection 8"
    assert pair.acceptor.downs == [line]
    assert pair.dialer.downs == [f"node 'b' ended the link: {line}"]


def test_a_handshake_takes_a_bounded_time() -> None:
    pair = LinkPair()
    pair.dialer.loses = True
    pair.pass_time(GREETING_S - 0.1, step_s=0.1)
    assert [end.downs for end in pair.ends] == [[], []]
    pair.pass_time(0.2, step_s=0.1)
    assert [end.downs for end in pair.ends] == [["the handshake took longer than 5 s"]] * 2


@pytest.mark.parametrize("octets", [b"GET / HTTP/1.1\r\n\r\n", b"AMQP\0\0\x09\x01" * 2, bytes(99)])
def test_octets_of_something_else_end_it_at_once(octets: bytes) -> None:
    pair = LinkPair()
    pair.acceptor.link.receive_data(octets, pair.now)
    assert pair.acceptor.link.state is LinkState.ENDING
    assert pair.acceptor.downs[0].startswith("a frame of ")


def test_a_lane_waits_for_the_owner_at_the_other_end_and_no_other_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(WINDOWS, Lane.PUBLISH, 4_096)
    pair = LinkPair().opened()
    pair.acceptor.takes[Lane.PUBLISH] = False
    for number in range(10):
        pair.dialer.link.send(Lane.PUBLISH, number, (bytes(1_000),))
        pair.dialer.link.send(Lane.REPLICATION, number, (bytes(1_000_000),))
        pair.dialer.link.send(Lane.DELIVER, number, (bytes(1_000),))
        pair.settle()
    assert [kind for _, kind, _ in pair.acceptor.held] == [0, 1, 2, 3]
    assert len(pair.acceptor.received[Lane.REPLICATION]) == 10
    assert len(pair.acceptor.received[Lane.DELIVER]) == 10
    assert pair.dialer.link.is_stalled(Lane.PUBLISH)
    while pair.acceptor.held:
        pair.acceptor.take_held()
        pair.settle()
    assert [kind for kind, _ in pair.acceptor.received[Lane.PUBLISH]] == list(range(10))
    assert not pair.dialer.link.is_stalled(Lane.PUBLISH)


def test_a_message_that_is_larger_than_the_window_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WINDOWS, Lane.PUBLISH, 4_096)
    pair = LinkPair().opened()
    for number in range(3):
        pair.dialer.link.send(Lane.PUBLISH, number, (bytes([number]) * 1_000_000,))
        pair.settle()
    assert pair.acceptor.received[Lane.PUBLISH] == [
        (number, bytes([number]) * 1_000_000) for number in range(3)
    ]


def test_a_call_takes_a_part_of_what_came_and_says_that_there_is_more() -> None:
    pair = LinkPair().opened()
    link, received = pair.acceptor.link, pair.acceptor.received[Lane.PUBLISH]
    data = encode_frame(Lane.PUBLISH, 1, b"x") * (TURN_FRAMES + 10)
    link.receive_data(data, pair.now)
    assert (len(received), link.more_waits) == (TURN_FRAMES, True)
    link.advance(pair.now)
    assert (len(received), link.more_waits) == (TURN_FRAMES + 10, False)
    link.advance(pair.now)
    received.clear()
    large = encode_frame(Lane.PUBLISH, 1, bytes(200_000))
    link.receive_data(large * 20, pair.now)
    assert link.more_waits
    assert len(received) == -(-TURN_BYTES // len(large))


def test_an_end_that_lost_its_way_is_told_why() -> None:
    pair = LinkPair().opened()
    pair.dialer.way += encode_frame(Lane.PUBLISH, 1, b"sound") + bytes(11)
    pair.settle()
    assert pair.acceptor.received[Lane.PUBLISH] == [(1, b"sound")]
    assert pair.acceptor.downs == [
        "a frame of 0 octets (lane CONTROL, kind 0) has a wrong checksum"
    ]
    assert pair.dialer.downs == [f"node 'b' ended the link: {pair.acceptor.downs[0]}"]


@pytest.mark.parametrize(
    ("lane", "kind", "payload", "fault"),
    [
        (Lane.CONTROL, ControlKind.HELLO, b"", "control of kind 0 on an open link"),
        (Lane.CONTROL, 9, b"", "control of kind 9 on an open link"),
        (Lane.CONTROL, ControlKind.CREDIT, b"", "a CREDIT that can't be read"),
        (Lane.CONTROL, ControlKind.CREDIT, b"\2" + b"\1" * 8, "of 0 that were sent"),
        (Lane.CONTROL, ControlKind.HEARTBEAT, b"", "a HEARTBEAT that can't be read"),
        (Lane.ASK, 7, b"", "a message of kind 7 in the lane of questions"),
        (Lane.ASK, AskKind.ANSWER, bytes(8), "an answer to question 0"),
    ],
)
def test_what_may_not_come_ends_the_link(lane: Lane, kind: int, payload: bytes, fault: str) -> None:
    pair = LinkPair().opened()
    pair.acceptor.link.receive_data(encode_frame(lane, kind, payload), pair.now)
    assert fault in pair.acceptor.link.reason
    assert len(pair.acceptor.downs) == 1


def test_a_message_that_its_receiver_can_not_read_ends_the_link() -> None:
    pair = LinkPair().opened()
    pair.acceptor.fault = "a PUBLISH that is cut off"
    pair.dialer.link.send(Lane.PUBLISH, 1, (b"publish",))
    pair.settle()
    assert pair.acceptor.downs == ["a PUBLISH that is cut off"]
    assert pair.dialer.downs == ["node 'b' ended the link: a PUBLISH that is cut off"]


def test_all_that_waits_is_accounted_for() -> None:
    pair = LinkPair().opened()
    dialer, acceptor = pair.dialer.link, pair.acceptor.link
    pair.acceptor.takes[Lane.PUBLISH] = False
    size = 700_000
    for _ in range(2):
        dialer.send(Lane.PUBLISH, 1, (bytes(size),))
    assert dialer.held_bytes == 2 * cost(1, size)
    data = b"".join(b"".join(dialer.data_to_send(1)) for _ in range(6))
    assert dialer.held_bytes == 0
    acceptor.receive_data(data[:600_000], pair.now)
    assert 600_000 - 100 < acceptor.held_bytes <= 600_000
    acceptor.receive_data(data[600_000:], pair.now)
    assert acceptor.held_bytes == 2 * cost(1, size)
    pair.acceptor.take_held()
    pair.acceptor.take_held()
    assert acceptor.held_bytes == 0


def test_a_sender_that_does_not_keep_to_its_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WINDOWS, Lane.DELIVER, 1_000)
    pair = LinkPair().opened()
    pair.acceptor.takes[Lane.DELIVER] = False
    pair.acceptor.link.receive_data(encode_frame(Lane.DELIVER, 1, bytes(400)) * 3, pair.now)
    assert pair.acceptor.downs == ["a message of lane DELIVER came without credit"]
    assert len(pair.acceptor.held) == 2


def stuck(send: Callable[[int], None], pair: LinkPair) -> None:
    for number in range(3_000):
        send(number)
    assert len(pair.dialer.downs) == 1
    assert pair.dialer.link.closed
    send(0)


def test_a_socket_that_takes_no_control_ends_the_link() -> None:
    pair = LinkPair().opened()
    stuck(lambda _: pair.dialer.link.send(Lane.CONTROL, OWNER_KINDS, (bytes(30),)), pair)
    assert "65536 octets of control" in pair.dialer.downs[0]


def test_a_socket_that_takes_no_replies_ends_the_link() -> None:
    pair = LinkPair().opened()
    stuck(lambda _: pair.dialer.link.send(Lane.PUBLISH, 0x80, (bytes(300),)), pair)
    assert "replies of lane PUBLISH" in pair.dialer.downs[0]


def test_who_waits_for_room_is_told_when_the_link_ends() -> None:
    pair = LinkPair().opened()
    link = pair.dialer.link
    assert link.room(Lane.PUBLISH) > 0
    told: list[int] = []
    link.room_comes(Lane.PUBLISH).then(lambda: told.append(link.room(Lane.PUBLISH)))
    link.end("the node stops")
    assert told == [0]
    link.end("again")
    pair.settle()
    assert pair.dialer.downs == ["the node stops"]
    assert pair.acceptor.downs == ["node 'a' ended the link: the node stops"]
    assert link.next_deadline() is None


def test_a_last_word_that_nobody_takes_ends_all_the_same() -> None:
    pair = LinkPair().opened()
    link = pair.dialer.link
    link.end("the node stops")
    assert link.has_output
    assert not link.closed
    deadline = link.next_deadline()
    assert deadline is not None
    link.tick(deadline)
    assert link.closed
    assert not link.has_output
    assert link.data_to_send() == []
    assert pair.dialer.downs == ["the node stops"]


def test_the_reason_is_one_line_whoever_says_it() -> None:
    pair = LinkPair().opened()
    reason = b"\x1b[31m\r\nroot logged in\xff" + b"x" * 2_000
    pair.dialer.way += encode_frame(Lane.CONTROL, ControlKind.END, reason)
    pair.settle()
    (line,) = pair.acceptor.downs
    assert line.startswith("node 'a' ended the link: ?[31m??root logged in")
    assert line.isprintable()
    assert len(line) < REASON_BYTES_MAX + 40


def test_a_socket_that_is_gone() -> None:
    pair = LinkPair().opened()
    pair.dialer.link.lost("connection reset")
    pair.dialer.link.lost("again")
    assert pair.dialer.downs == ["connection reset"]
    pair.acceptor.link.receive_data(encode_frame(Lane.PUBLISH, 1, b"cut off")[:-1], pair.now)
    pair.acceptor.link.lost("connection reset")
    assert pair.acceptor.downs == ["connection reset, within a frame"]
    for end in pair.ends:
        end.link.receive_data(encode_frame(Lane.PUBLISH, 1, b"late"), pair.now)
        end.link.tick(pair.now + 99)
        assert end.received[Lane.PUBLISH] == []
        assert end.link.data_to_send() == []


def test_heartbeats_tell_each_end_about_the_other() -> None:
    pair = LinkPair().opened()
    pair.acceptor.state = Report(applied_revision=77, leads=12)
    pair.pass_time(2 * STRICT.interval_s)
    assert pair.dialer.link.heartbeats.peer == Report(77, 12)
    pair.pass_time(10, step_s=0.05)
    assert [end.downs for end in pair.ends] == [[], []]


@pytest.mark.parametrize("deaf", ["dialer", "acceptor"])
def test_loss_one_way_is_seen_at_both_ends_within_3_s(deaf: str) -> None:
    pair = LinkPair().opened()
    pair.pass_time(1.1)
    unheard = pair.acceptor if deaf == "dialer" else pair.dialer
    unheard.loses = True
    pair.pass_time(3)
    listener = pair.dialer if deaf == "dialer" else pair.acceptor
    assert listener.downs == ["nothing came for 2 s"]
    assert unheard.downs == ["the other end has heard nothing of this one for 2.5 s"]


def answered(end: LinkEnd, text: bytes) -> None:
    token, question = end.questions.pop(0)
    end.link.answer(token, (text, question))


def test_questions_are_answered() -> None:
    pair = LinkPair().opened()
    outcomes: list[Outcome] = []
    for question in (b"counts", b"rows"):
        pair.dialer.link.ask(question, pair.now + 1, outcomes.append)
    pair.settle()
    assert [question for _, question in pair.acceptor.questions] == [b"counts", b"rows"]
    answered(pair.acceptor, b"of ")
    answered(pair.acceptor, b"x" * 600_000)
    pair.settle()
    assert [bytes(each.payload) for each in outcomes if isinstance(each, Answered)] == [
        b"of counts",
        b"x" * 600_000 + b"rows",
    ]


def test_a_question_fails_in_time_or_with_the_link() -> None:
    pair = LinkPair().opened()
    outcomes: list[Outcome] = []
    pair.dialer.link.ask(b"quick", pair.now + 0.1, outcomes.append)
    pair.dialer.link.ask(b"slow", pair.now + 100, outcomes.append)
    assert pair.dialer.link.next_deadline() == pair.now
    pair.pass_time(0.2)
    assert outcomes == [Unanswered("no answer came in time")]
    pair.acceptor.link.end("the node stops")
    answered(pair.acceptor, b"nobody listens")
    pair.settle()
    reason = "the link ended: node 'b' ended the link: the node stops"
    assert outcomes[1:] == [Unanswered(reason)]


def test_all_questions_of_both_ends_may_be_open_and_are_answered() -> None:
    pair = LinkPair().opened()
    outcomes: list[Outcome] = []
    for end in pair.ends:
        for _ in range(OPEN_MAX):
            while not end.link.may_ask:
                pair.settle()
            end.link.ask(bytes(60_000), pair.now + 1, outcomes.append)
        assert not end.link.may_ask
        with pytest.raises(AssertionError, match="may not be asked now"):
            end.link.ask(b"", pair.now + 1, outcomes.append)
    pair.settle()
    for end in pair.ends:
        while end.questions:
            while end.link.room(Lane.ASK) <= 0:
                pair.settle()
            answered(end, b"")
    pair.settle()
    assert sum(isinstance(each, Answered) for each in outcomes) == 2 * OPEN_MAX


def test_a_body_is_handed_to_the_socket_as_it_is() -> None:
    pair = LinkPair().opened()
    body = bytes(100_000)
    pair.dialer.link.send(Lane.PUBLISH, 1, (b"head", body))
    output: list[Buffer] = pair.dialer.link.data_to_send()
    assert output[-1] is body
    assert pair.dialer.link.sent_bytes(Lane.PUBLISH) == sum(map(len, output))


def _of_heartbeats() -> LinkPair:
    return LinkPair(
        identity(Role.DIALER, purpose=Purpose.HEARTBEATS),
        identity(Role.ACCEPTOR, purpose=Purpose.HEARTBEATS),
    ).opened()


def test_a_connection_of_heartbeats_takes_nothing_but_control() -> None:
    for lane in (*LANES, Lane.ASK):
        pair = _of_heartbeats()
        pair.acceptor.link.receive_data(encode_frame(lane, 0, b"x"), pair.now)
        assert pair.acceptor.downs == [f"a frame of lane {lane.name}, and only control may come"]
    pair = _of_heartbeats()
    pair.pass_time(1)
    assert min(end.heartbeats for end in pair.ends) >= 4


def test_an_end_whose_owner_has_nothing_to_report_is_silent() -> None:
    pair = _of_heartbeats()
    pair.pass_time(1)
    pair.acceptor.state = None
    pair.pass_time(1.4)
    assert [end.downs for end in pair.ends] == [[], []]
    pair.acceptor.state = Report()
    pair.pass_time(5)
    assert [end.downs for end in pair.ends] == [[], []]
    pair.acceptor.state = None
    pair.pass_time(2.3)
    assert pair.dialer.downs == ["nothing came for 2 s"]
    assert pair.acceptor.downs == []


def test_an_end_that_stood_still_takes_what_came_before_it_judges() -> None:
    pair = _of_heartbeats()
    pair.pass_time(1)
    pair.now += 30
    pair.dialer.link.tick(pair.now)
    assert pair.dialer.downs == []
    assert not pair.dialer.link.has_output
    assert pair.dialer.link.next_deadline() == pair.now + READING_S
    pair.now += READING_S
    pair.dialer.link.tick(pair.now)
    assert pair.dialer.downs == ["nothing came for 2 s"]
