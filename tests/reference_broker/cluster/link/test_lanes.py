"""The lanes of a link in turns: who waits for whom, and for how many bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.link.credit import Credit
from reference_broker.cluster.link.frame import FRAME_PAYLOAD_MAX, HEAD, HEAD_BYTES
from reference_broker.cluster.link.lane import CONTROL_BYTES_MAX, REPLY, WINDOWS, Lane, cost
from reference_broker.cluster.link.lanes import OUTPUT_BYTES, QUANTUM_BYTES, Lanes
from reference_broker.cluster.link.sending_lane import WAITING_BYTES_MAX
from reference_broker.core.base.limits import MESSAGE_SIZE_MAX, MIB
from reference_broker.errors import LinkError

FULL = HEAD_BYTES + FRAME_PAYLOAD_MAX


def frames(lanes: Lanes) -> Iterator[tuple[Lane, int, int]]:
    """The output, frame by frame: lane, kind and size."""
    while lanes.has_output:
        data = b"".join(lanes.take_output(1))
        while data:
            _, length, lane, kind, _ = HEAD.unpack_from(data)
            yield Lane(lane), kind, HEAD_BYTES + length
            data = data[HEAD_BYTES + length :]


@pytest.mark.parametrize("gone", [0, 1, 2, 5, 300])
def test_a_message_of_128_mib_delays_another_lane_by_one_frame(gone: int) -> None:
    lanes = Lanes()
    lanes.put(Lane.REPLICATION, 1, (bytes(MESSAGE_SIZE_MAX),))
    output = frames(lanes)
    for _ in range(gone):
        next(output)
    lanes.put(Lane.PUBLISH, 2, (bytes(1_024),))
    waited = 0
    for lane, _, size in output:
        if lane is Lane.PUBLISH:
            break
        waited += size
    assert waited <= FULL


def test_control_goes_before_all() -> None:
    lanes = Lanes()
    lanes.put(Lane.REPLICATION, 1, (bytes(4 * MIB),))
    output = frames(lanes)
    next(output)
    for kind in (20, 21):
        lanes.put_control(kind, b"now")
    assert [next(output)[:2], next(output)[:2]] == [(Lane.CONTROL, 20), (Lane.CONTROL, 21)]
    assert next(output)[0] is Lane.REPLICATION


@given(
    st.lists(
        st.tuples(
            st.sampled_from([Lane.REPLICATION, Lane.PUBLISH, Lane.DELIVER]),
            st.sampled_from([0, 100, 9_000, 100_000, 200_000, FRAME_PAYLOAD_MAX, 700_000]),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_no_lane_sends_more_than_a_frame_and_a_quantum_while_another_waits(
    messages: list[tuple[Lane, int]],
) -> None:
    """Between two lanes with enough to send the difference is a frame and a quantum at most, for
    each of them, whatever the sizes of their frames."""
    lanes = Lanes()
    left = Counter[Lane]()
    for lane, size in messages:
        if lanes.room(lane) > 0:
            lanes.put(lane, 1, (bytes(size),))
            left[lane] += HEAD_BYTES * max(1, -(-size // FRAME_PAYLOAD_MAX)) + size
    sent = Counter[Lane]()
    for lane, _, size in frames(lanes):
        sent[lane] += size
        left[lane] -= size
        busy = [sent[each] for each in left if left[each] > 0]
        if len(busy) == len(left):
            assert max(busy) - min(busy) <= 2 * (FULL + QUANTUM_BYTES)
    assert not any(left.values())


def test_full_frames_are_not_ahead_of_small_ones() -> None:
    """Both lanes get half of the bytes."""
    lanes = Lanes()
    lanes.put(Lane.REPLICATION, 1, (bytes(16 * MIB),))
    for _ in range(400):
        lanes.put(Lane.PUBLISH, 2, (bytes(9_000),))
    sent = Counter[Lane]()
    for lane, _, size in frames(lanes):
        sent[lane] += size
        if sent[Lane.PUBLISH] >= 400 * 9_000:
            break
    assert abs(sent[Lane.PUBLISH] - sent[Lane.REPLICATION]) <= 2 * FULL


def test_a_lane_without_credit_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WINDOWS, Lane.PUBLISH, 1)
    lanes = Lanes()
    for _ in range(3):
        lanes.put(Lane.PUBLISH, 1, (b"publish",))
        lanes.put(Lane.REPLICATION, 2, (b"append",))
    order = [lane for lane, _, _ in frames(lanes)]
    assert Counter(order) == {Lane.PUBLISH: 1, Lane.REPLICATION: 3}
    assert lanes.is_stalled(Lane.PUBLISH)
    assert not lanes.has_output
    lanes.give_credit(Credit(Lane.PUBLISH, 200))
    assert not lanes.has_output
    lanes.give_credit(Credit(Lane.PUBLISH, 263))
    assert [lane for lane, _, _ in frames(lanes)] == [Lane.PUBLISH]


def test_the_output_of_a_turn_is_bounded() -> None:
    lanes = Lanes()
    lanes.put(Lane.REPLICATION, 1, (bytes(8 * MIB),))
    assert lanes.waiting == cost(1, 8 * MIB)
    while lanes.has_output:
        assert sum(map(len, lanes.take_output())) < OUTPUT_BYTES + FULL
    assert lanes.waiting == 0
    assert lanes.take_output() == []
    assert lanes.counts.sent_octets[Lane.REPLICATION] == 8 * MIB + 32 * HEAD_BYTES
    assert lanes.counts.sent_frames[Lane.REPLICATION] == 32


def test_control_that_nobody_takes_breaks_the_link() -> None:
    lanes = Lanes()
    for _ in range(CONTROL_BYTES_MAX // (1_000 + HEAD_BYTES)):
        lanes.put_control(20, bytes(1_000))
    with pytest.raises(LinkError, match="65536 octets of control wait for a socket"):
        lanes.put_control(20, bytes(1_000))
    lanes.take_output()
    lanes.put_control(20, bytes(1_000))


def test_only_the_last_heartbeat_and_the_last_credit_of_a_lane_wait() -> None:
    lanes = Lanes()
    for number in range(10_000):
        lanes.put_heartbeat(b"%d" % number)
        lanes.put_credit(Credit(Lane.PUBLISH, number))
        lanes.put_credit(Credit(Lane.DELIVER, number))
    data = b"".join(lanes.take_output())
    assert b"9999" in data
    assert Credit(Lane.PUBLISH, 9_999).encode() in data
    assert Credit(Lane.DELIVER, 9_999).encode() in data
    assert len(data) < 3 * (HEAD_BYTES + 10)


def test_who_waits_for_room_is_told_when_the_lane_is_half_empty() -> None:
    lanes = Lanes()
    while lanes.room(Lane.PUBLISH) > 0:
        lanes.put(Lane.PUBLISH, 1, (bytes(100_000),))
    told: list[int] = []
    lanes.room_comes(Lane.PUBLISH).then(lambda: told.append(lanes.room(Lane.PUBLISH)))
    while lanes.has_output:
        lanes.take_output()
    assert len(told) == 1
    assert WAITING_BYTES_MAX // 2 <= told[0] < WAITING_BYTES_MAX // 2 + 2 * FULL


def test_who_is_told_of_room_may_use_it_at_once() -> None:
    lanes = Lanes()
    sent = 0

    def fill() -> None:
        nonlocal sent
        while lanes.room(Lane.PUBLISH) > 0 and sent < 200:
            lanes.put(Lane.PUBLISH, 1, (bytes(100_000),))
            sent += 1
        lanes.room_comes(Lane.PUBLISH).then(fill)

    fill()
    assert sum(lane is Lane.PUBLISH for lane, _, _ in frames(lanes)) >= 160


def test_each_wait_for_credit_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WINDOWS, Lane.PUBLISH, 1)
    lanes = Lanes()
    stalls = lanes.counts.stalls
    size = cost(1, 100)
    lanes.put(Lane.PUBLISH, 1, (bytes(100),))
    list(frames(lanes))
    assert stalls[Lane.PUBLISH] == 0, "nothing waits"
    for _ in range(3):
        lanes.put(Lane.PUBLISH, 1, (bytes(100),))
        lanes.put(Lane.PUBLISH, REPLY, (b"a reply",))
        list(frames(lanes))
    assert lanes.waiting_in(Lane.PUBLISH) == 3 * size
    assert stalls[Lane.PUBLISH] == 1
    lanes.give_credit(Credit(Lane.PUBLISH, size - 1))
    list(frames(lanes))
    assert stalls[Lane.PUBLISH] == 1, "that was not enough"
    lanes.give_credit(Credit(Lane.PUBLISH, size))
    list(frames(lanes))
    assert stalls[Lane.PUBLISH] == 2, "one went, and the next one waits anew"
    assert sum(stalls) == 2
