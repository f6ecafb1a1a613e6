from __future__ import annotations

from dataclasses import replace

import pytest

from mqkit.errors import ConnectionRefused
from mqkit.transport.native.handshake import Limits, negotiate, start_ok, tune_ok
from mqkit.transport.seam import Credentials, Endpoint
from mqkit.wire import WireError
from mqkit.wire.methods import ConnectionStart, ConnectionTune, ConnectionTuneOk

ENDPOINT = Endpoint("mq", credentials=Credentials("änn", "s3cret"))


def test_the_login_is_plain_and_tells_the_connections_name() -> None:
    ok = start_ok(ConnectionStart(mechanisms=b"AMQPLAIN PLAIN"), ENDPOINT, "billing")
    assert (ok.mechanism, ok.response) == ("PLAIN", "\0änn\0s3cret".encode())
    assert ok.client_properties["connection_name"] == "billing"
    assert ok.client_properties["capabilities"]["connection.blocked"] is True


def test_a_broker_without_plain_is_not_told_the_password() -> None:
    with pytest.raises(ConnectionRefused) as refused:
        start_ok(ConnectionStart(mechanisms=b"EXTERNAL"), ENDPOINT, "billing")
    assert "EXTERNAL" in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_external_leaves_it_to_the_certificate() -> None:
    endpoint = replace(ENDPOINT, external=True)
    ok = start_ok(ConnectionStart(mechanisms=b"PLAIN EXTERNAL"), endpoint, "billing")
    assert (ok.mechanism, ok.response) == ("EXTERNAL", b"")
    with pytest.raises(ConnectionRefused, match="EXTERNAL, only by PLAIN"):
        start_ok(ConnectionStart(mechanisms=b"PLAIN"), endpoint, "billing")


@pytest.mark.parametrize(
    ("offer", "heartbeat_s", "limits"),
    [
        (ConnectionTune(2047, 131_072, 60), 20, Limits(2047, 131_072, 20)),
        (ConnectionTune(10, 4096, 5), 20, Limits(10, 4096, 5)),
        (ConnectionTune(0, 0, 0), 20, Limits(2047, 131_072, 20)),
        (ConnectionTune(65_535, 2**31, 60), 0, Limits(2047, 131_072, 0)),
        (ConnectionTune(0, 0, 0), 10**6, Limits(2047, 131_072, 65_535)),
    ],
)
def test_the_smaller_wish_counts_and_zero_is_no_wish_of_the_brokers(
    offer: ConnectionTune, heartbeat_s: int, limits: Limits
) -> None:
    assert negotiate(offer, heartbeat_s) == limits
    assert tune_ok(limits) == ConnectionTuneOk(
        limits.channel_max, limits.frame_max, limits.heartbeat_s
    )


def test_frames_below_the_minimum_are_not_accepted() -> None:
    with pytest.raises(WireError, match="4095"):
        negotiate(ConnectionTune(0, 4095, 0), 0)
