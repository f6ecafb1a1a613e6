"""mqkit.transport.unanswered: which ends of an attempt were silent."""

from __future__ import annotations

import socket
import ssl

import pytest

from mqkit.errors import Unanswered, Unreachable
from mqkit.transport.unanswered import unreachable

ENDS: list[tuple[BaseException | None, type[Unreachable]]] = [
    (None, Unanswered),
    (ConnectionRefusedError(111, "Connection refused"), Unanswered),
    (ConnectionResetError(104, "Connection reset by peer"), Unanswered),
    (socket.gaierror(-2, "Name or service not known"), Unanswered),
    (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), Unanswered),
    (ssl.SSLZeroReturnError(6, "TLS connection has been closed"), Unanswered),
    (ssl.SSLCertVerificationError(1, "self-signed certificate"), Unreachable),
    (ssl.SSLError(1, "tlsv13 alert certificate required"), Unreachable),
]


@pytest.mark.parametrize(("cause", "kind"), ENDS, ids=lambda value: getattr(value, "strerror", ""))
def test_a_fault_of_the_network_is_silence_and_one_of_tls_is_not(
    cause: BaseException | None, kind: type[Unreachable]
) -> None:
    assert type(unreachable("text", cause, heard=False)) is kind


@pytest.mark.parametrize("cause", [cause for cause, _ in ENDS], ids=repr)
def test_what_was_heard_was_an_answer(cause: BaseException | None) -> None:
    found = unreachable("text", cause, heard=True)
    assert type(found) is Unreachable
    assert str(found) == "text"
