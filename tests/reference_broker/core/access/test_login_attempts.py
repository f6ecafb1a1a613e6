"""login_attempts: counted by protocol, and by AMQP's own logins."""

from __future__ import annotations

from reference_broker.core.access.login_attempts import AttemptCount, LoginAttempts, LoginProtocol


def test_only_protocols_that_somebody_tried() -> None:
    attempts = LoginAttempts()
    assert attempts.counts() == []
    attempts.note(LoginProtocol.AMQP, True)
    assert attempts.counts() == [AttemptCount(LoginProtocol.AMQP, 1, 0)]
    attempts.note(LoginProtocol.HTTP, False)
    attempts.note(LoginProtocol.HTTP, True)
    attempts.note(LoginProtocol.HTTP, False)
    assert attempts.counts() == [
        AttemptCount(LoginProtocol.HTTP, 1, 2),
        AttemptCount(LoginProtocol.AMQP, 1, 0),
    ]
    attempts.reset()
    assert attempts.counts() == []
