"""The states of a handshake, of both ends, and the one table of how it goes from one to the next.

dialer                                          acceptor
START          HELLO(values, nonce)    ->       AWAIT_HELLO
AWAIT_HELLO                            <-       HELLO(values, nonce)
               PROOF                   ->       AWAIT_DIALER_PROOF
AWAIT_PROOF                            <-       PROOF, and the acceptor is DONE
DONE

Who was dialled proves nothing to somebody who has not. Either end may refuse at any time.
"""

from __future__ import annotations

from enum import Enum, unique

from reference_broker.core.base.transitions import TransitionTable


@unique
class HandshakeState(Enum):
    """The states of a handshake. Both ends begin in START."""

    START = "nothing was sent"
    AWAIT_ACCEPTOR_HELLO = "the dialer said hello"
    AWAIT_ACCEPTOR_PROOF = "the dialer proved that it knows the secret"
    AWAIT_DIALER_HELLO = "the acceptor waits to be told who dials"
    AWAIT_DIALER_PROOF = "the acceptor said hello, too"
    DONE = "both have proved it"
    REFUSED = "one of them doesn't want the link"


@unique
class HandshakeEvent(Enum):
    """The events that move a handshake from one state to the next."""

    DIAL = "this end has dialled"
    ACCEPT = "this end was dialled"
    HELLO = "a HELLO that may be answered"
    PROOF = "a PROOF that is right"
    REFUSE = "this end refuses, or was refused"


_S = HandshakeState
_E = HandshakeEvent

HANDSHAKE_TRANSITIONS: TransitionTable[HandshakeState, HandshakeEvent] = TransitionTable(
    {
        (_S.START, _E.DIAL): _S.AWAIT_ACCEPTOR_HELLO,
        (_S.START, _E.ACCEPT): _S.AWAIT_DIALER_HELLO,
        (_S.AWAIT_ACCEPTOR_HELLO, _E.HELLO): _S.AWAIT_ACCEPTOR_PROOF,
        (_S.AWAIT_ACCEPTOR_HELLO, _E.REFUSE): _S.REFUSED,
        (_S.AWAIT_ACCEPTOR_PROOF, _E.PROOF): _S.DONE,
        (_S.AWAIT_ACCEPTOR_PROOF, _E.REFUSE): _S.REFUSED,
        (_S.AWAIT_DIALER_HELLO, _E.HELLO): _S.AWAIT_DIALER_PROOF,
        (_S.AWAIT_DIALER_HELLO, _E.REFUSE): _S.REFUSED,
        (_S.AWAIT_DIALER_PROOF, _E.PROOF): _S.DONE,
        (_S.AWAIT_DIALER_PROOF, _E.REFUSE): _S.REFUSED,
    }
)
