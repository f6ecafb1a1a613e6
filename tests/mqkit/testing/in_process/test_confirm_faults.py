"""Faults in a broker's confirms, octet for octet."""

from __future__ import annotations

import pytest

from mqkit.testing.in_process.confirm_faults import ConfirmFault, ConfirmFaults
from mqkit.wire import method_frame
from mqkit.wire.methods import BasicAck, BasicNack, BasicQosOk

QOS_OK = method_frame(1, BasicQosOk())


def ack(tag: int, *, multiple: bool = False, channel: int = 1) -> bytes:
    return method_frame(channel, BasicAck(delivery_tag=tag, multiple=multiple))


def nack(tag: int) -> bytes:
    return method_frame(1, BasicNack(delivery_tag=tag))


def armed(fault: ConfirmFault, publish: int, settled: int = 0) -> ConfirmFaults:
    faults = ConfirmFaults()
    faults.arm(publish, fault, {(1, 1): settled})
    return faults


@pytest.mark.parametrize(
    ("fault", "left", "is_dropped"),
    [
        (ConfirmFault.DROP_BEFORE, ack(2, multiple=True), True),
        (ConfirmFault.DROP_AFTER, ack(3, multiple=True), True),
        (ConfirmFault.NACK, ack(2, multiple=True) + nack(3) + ack(5, multiple=True), False),
    ],
)
def test_a_confirm_of_several_is_cut(fault: ConfirmFault, left: bytes, is_dropped: bool) -> None:
    faults = armed(fault, 3)
    octets, dropped = faults.applied(1, ack(5, multiple=True))
    assert (octets, dropped) == (left, is_dropped)
    assert not faults


def test_what_was_confirmed_before_does_not_count() -> None:
    faults = armed(ConfirmFault.NACK, 2, settled=10)
    assert faults.applied(1, ack(11)) == (ack(11), False)
    assert faults.applied(1, QOS_OK + ack(12) + QOS_OK) == (QOS_OK + nack(12) + QOS_OK, False)


def test_publishes_count_over_connections_and_channels() -> None:
    faults = armed(ConfirmFault.NACK, 4)
    assert faults.applied(1, ack(1) + ack(1, channel=2)) == (ack(1) + ack(1, channel=2), False)
    assert faults.applied(7, ack(1)) == (ack(1), False)
    assert faults.applied(1, ack(2)) == (nack(2), False)


def test_a_refusal_of_the_brokers_own_counts() -> None:
    faults = armed(ConfirmFault.DROP_AFTER, 2)
    assert faults.applied(1, nack(1) + ack(2) + QOS_OK) == (nack(1) + ack(2), True)


def test_several_faults_are_counted_from_when_they_were_told() -> None:
    faults = armed(ConfirmFault.NACK, 1)
    faults.arm(3, ConfirmFault.NACK, {})
    assert faults.applied(1, ack(3, multiple=True)) == (nack(1) + ack(2) + nack(3), False)
    faults.arm(1, ConfirmFault.NACK, {(1, 1): 3})
    assert faults.applied(1, ack(4)) == (nack(4), False)


def test_other_frames_pass() -> None:
    faults = armed(ConfirmFault.NACK, 1)
    assert faults.applied(1, QOS_OK * 2) == (QOS_OK * 2, False)
    assert faults
