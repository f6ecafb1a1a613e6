"""Slots of requests that are being answered: a request has one from the end of its headers to the
end of its answer. Health checks have some that no other request can take."""

from __future__ import annotations

REQUESTS_MAX = 128
"""Requests that are answered at a time: a scraper and a few people need ten. More are answered
503."""

REQUESTS_PER_ADDRESS_MAX = REQUESTS_MAX // 2
"""Requests of one address: nobody keeps everybody else out."""

CHECKS_MAX = 16
"""Health checks and scrapes that are answered at a time where the slots for all are taken: an
orchestrator that hears 503 ends the process."""

CHECKS_PER_ADDRESS_MAX = CHECKS_MAX // 4
"""Health checks of one address in these."""

_CHECKS = ("/api/health/", "/api/healthchecks/", "/api/aliveness-test/", "/metrics")


def is_check(path: str) -> bool:
    """True for a path that monitoring asks for."""
    return path.startswith(_CHECKS)


class _Slots:
    """A number of slots, and how many of them one origin may have."""

    __slots__ = ("_by_origin", "_most", "_per_origin")

    def __init__(self, most: int, per_origin: int) -> None:
        self._most = most
        self._per_origin = per_origin
        self._by_origin: dict[str, int] = {}

    def enter(self, origin: str) -> bool:
        taken = self._by_origin.get(origin, 0)
        if taken >= self._per_origin or sum(self._by_origin.values()) >= self._most:
            return False
        self._by_origin[origin] = taken + 1
        return True

    def leave(self, origin: str) -> None:
        self._by_origin[origin] -= 1
        if not self._by_origin[origin]:
            del self._by_origin[origin]


class RequestSlots:
    """Counts requests by the address that they come from (:attr:`Peer.origin`)."""

    def __init__(self) -> None:
        self._for_all = _Slots(REQUESTS_MAX, REQUESTS_PER_ADDRESS_MAX)
        self._for_checks = _Slots(CHECKS_MAX, CHECKS_PER_ADDRESS_MAX)

    def enter(self, origin: str, *, check: bool) -> RequestSlot | None:
        """Take a slot for a request, which may be a health ``check``; ``None`` where there is none.
        Give it back with :meth:`RequestSlot.leave`."""
        for slots in (self._for_all, self._for_checks) if check else (self._for_all,):
            if slots.enter(origin):
                return RequestSlot(slots, origin)
        return None


class RequestSlot:
    """One slot that was taken."""

    __slots__ = ("_origin", "_slots")

    def __init__(self, slots: _Slots, origin: str) -> None:
        self._slots = slots
        self._origin = origin

    def leave(self) -> None:
        """Give it back. Once."""
        self._slots.leave(self._origin)
