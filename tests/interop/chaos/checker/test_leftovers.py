"""The law of the end."""

from __future__ import annotations

import pytest

from interop.chaos.checker.history import History
from interop.chaos.checker.leftovers import nothing_is_left
from interop.chaos.checker.sample import GoodRun


@pytest.fixture
def history() -> History:
    return GoodRun().history


def said(history: History) -> list[str]:
    return [offence.text for offence in nothing_is_left(history).offences]


def test_a_good_end(history: History) -> None:
    history.noise = ["12 WARNING mqkit: the broker cancelled the consumer"]
    assert said(history) == []


@pytest.mark.parametrize("what", ["descriptors", "tasks", "threads"])
def test_something_that_is_left(history: History, what: str) -> None:
    assert history.left is not None
    history.left[what].append("9 socket:[1]")
    assert said(history) == [f"left of the app, {what}: 9 socket:[1]"]


def test_an_end_that_did_not_come(history: History) -> None:
    history.left = None
    assert said(history) == ["the app did not come to its end"]


def test_connections_that_stay_open(history: History) -> None:
    history.links_left = 2
    assert said(history) == ["2 connections of the app were open after its end"]


@pytest.mark.parametrize("code", [1, -9, None])
def test_a_process_that_fails(history: History, code: int | None) -> None:
    history.exit_code = code
    assert said(history) == [f"the app's process ended with {code}"]


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeWarning: coroutine 'Connection.close' was never awaited",
        "ERROR asyncio: Task was destroyed but it is pending!",
        "ERROR asyncio: Task exception was never retrieved",
        "ERROR asyncio: Future exception was never retrieved",
        "ResourceWarning: unclosed <socket.socket fd=9>",
    ],
)
def test_what_python_tells_of_forgotten_things(history: History, line: str) -> None:
    history.noise = [line]
    assert said(history) == [f"on stderr: {line}"]
