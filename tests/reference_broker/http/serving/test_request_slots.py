"""request_slots: bounds in all and by address, and slots that only health checks take."""

from __future__ import annotations

import pytest

from reference_broker.http.serving.request_slots import (
    CHECKS_MAX,
    CHECKS_PER_ADDRESS_MAX,
    REQUESTS_MAX,
    REQUESTS_PER_ADDRESS_MAX,
    RequestSlots,
    is_check,
)


def test_one_address_leaves_slots_to_others() -> None:
    slots = RequestSlots()
    taken = [slots.enter("10.0.0.1", check=False) for _ in range(REQUESTS_PER_ADDRESS_MAX)]
    assert all(taken)
    assert slots.enter("10.0.0.1", check=False) is None
    assert slots.enter("10.0.0.2", check=False) is not None
    assert taken[0] is not None
    taken[0].leave()
    assert slots.enter("10.0.0.1", check=False) is not None


def test_all_addresses_leave_slots_to_health_checks() -> None:
    slots = RequestSlots()
    for number in range(REQUESTS_MAX):
        assert slots.enter(f"10.0.0.{number}", check=False) is not None
    assert slots.enter("127.0.0.1", check=False) is None
    check = slots.enter("127.0.0.1", check=True)
    assert check is not None
    check.leave()


def test_health_checks_are_bounded_too() -> None:
    slots = RequestSlots()
    for number in range(REQUESTS_MAX):
        slots.enter(f"10.0.0.{number}", check=False)
    for _ in range(CHECKS_PER_ADDRESS_MAX):
        assert slots.enter("10.1.0.1", check=True) is not None
    assert slots.enter("10.1.0.1", check=True) is None
    for number in range(CHECKS_MAX - CHECKS_PER_ADDRESS_MAX):
        assert slots.enter(f"10.2.0.{number}", check=True) is not None
    assert slots.enter("127.0.0.1", check=True) is None


@pytest.mark.parametrize(
    ("path", "check"),
    [
        ("/api/health/checks/alarms", True),
        ("/api/healthchecks/node", True),
        ("/api/aliveness-test/%2f", True),
        ("/metrics", True),
        ("/metrics/per-object", True),
        ("/api/queues", False),
        ("/", False),
    ],
)
def test_the_paths_of_health_checks(path: str, check: bool) -> None:
    assert is_check(path) is check
