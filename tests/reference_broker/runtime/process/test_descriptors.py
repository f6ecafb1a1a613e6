"""descriptors: the soft limit goes up, and sockets end before it."""

from __future__ import annotations

import resource

import pytest

from reference_broker.runtime.process.descriptors import (
    ADMINISTRATOR_RESERVE,
    FILES_RESERVE,
    SocketBound,
    descriptor_limit,
    raise_limit,
)


class Limits:
    """Stands for the kernel's limits of a process."""

    def __init__(self, soft: int, hard: int, most: int | None = None) -> None:
        self.limits = (soft, hard)
        self.most = most

    def get(self, _: int) -> tuple[int, int]:
        return self.limits

    def set(self, _: int, limits: tuple[int, int]) -> None:
        if self.most is not None and not 0 <= limits[0] <= self.most:
            raise ValueError("current limit exceeds maximum limit")
        self.limits = limits


def kernel(monkeypatch: pytest.MonkeyPatch, *limits: int) -> Limits:
    kernel = Limits(*limits)
    monkeypatch.setattr(resource, "getrlimit", kernel.get)
    monkeypatch.setattr(resource, "setrlimit", kernel.set)
    return kernel


def test_the_soft_limit_becomes_the_hard_one(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = kernel(monkeypatch, 1_024, 524_288)
    assert raise_limit() == 524_288
    assert limits.limits == (524_288, 524_288)
    assert raise_limit() == 524_288


def test_a_system_that_has_no_hard_limit_and_a_bound_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel(monkeypatch, 256, resource.RLIM_INFINITY, 10_240)
    assert raise_limit() == 10_240


def test_a_limit_is_never_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(monkeypatch, 20_000, resource.RLIM_INFINITY, 10_240)
    assert raise_limit() == 20_000


def test_no_limit_is_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(monkeypatch, resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert descriptor_limit() == 1 << 20


def test_files_and_an_administrator_have_a_reserve() -> None:
    bound = SocketBound(1_024)
    most = 1_024 - FILES_RESERVE - ADMINISTRATOR_RESERVE
    assert bound.sockets_end == most
    assert bound.admits(most - 1)
    assert not bound.admits(most)
    assert bound.admits(most + ADMINISTRATOR_RESERVE - 1, administrator=True)
    assert not bound.admits(most + ADMINISTRATOR_RESERVE, administrator=True)


def test_a_small_limit_leaves_most_of_it_to_sockets() -> None:
    assert SocketBound(64).sockets_end == 40
