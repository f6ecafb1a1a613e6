"""Errors as lines, exit codes, and masked secrets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import typer

from mqkit.errors import ChannelError, ConfigurationError, ConnectionRefused, Unreachable
from mqkit_cli.errors import CommandError, describe, mask, run_guarded
from reference_broker.errors import DataDirectoryLocked


def raising(error: BaseException) -> Callable[[], object]:
    def run() -> object:
        raise error

    return run


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("amqp://app:secret@mq1/", "amqp://app:***@mq1/"),
        ("two: amqps://a:b@h,http://c:d@i/x", "two: amqps://a:***@h,http://c:***@i/x"),
        ("amqp://app:se@cret@mq1/", "amqp://app:***@mq1/"),
        ("amqp://app@mq1/ and http://h:80/p", "amqp://app@mq1/ and http://h:80/p"),
    ],
)
def test_mask(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    "error",
    [
        CommandError("do that"),
        Unreachable("do that"),
        DataDirectoryLocked("do that"),
        typer.BadParameter("do that"),
        OSError(2, "do that"),
        KeyError("do that"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_is_one_line_and_1(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_guarded(raising(error)) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mqkit: ")
    assert err.count("\n") == 1
    assert "do that" in err


@pytest.mark.parametrize("end", [KeyboardInterrupt(), typer.Abort()])
def test_an_interrupt_is_one_line_and_1(
    end: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_guarded(raising(end)) == 1
    assert capsys.readouterr().err == "mqkit: interrupted\n"


def test_what_typer_makes_of_an_interrupt_is_1() -> None:
    assert run_guarded(lambda: 130) == 1


@pytest.mark.parametrize(("given", "code"), [(None, 0), (0, 0), (2, 2)])
def test_the_code_of_a_command_is_kept(given: object, code: int) -> None:
    assert run_guarded(lambda: given) == code


def test_a_traceback_has_to_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MQKIT_TRACEBACK", "1")
    assert run_guarded(raising(RuntimeError("at amqp://a:secret@h/"))) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "secret" not in err


def test_an_unexpected_error_says_that_it_is_a_defect() -> None:
    assert "a defect of mqkit" in describe(RuntimeError("x"))


@pytest.mark.parametrize(("code", "advice"), [(403, "the password"), (530, "the vhost")])
def test_a_refused_connection_comes_with_what_to_do(code: int, advice: str) -> None:
    assert advice in describe(ConnectionRefused(code, "REFUSED"))
    assert describe(ConnectionRefused(320, "CONNECTION_FORCED")) == "320 CONNECTION_FORCED"


def test_a_broker_that_does_not_answer_comes_with_what_to_do() -> None:
    assert describe(Unreachable("nobody")).startswith("nobody (check host and port of --url; ")


@pytest.mark.parametrize(("code", "advice"), [(403, "set_permissions"), (404, "topology apply")])
def test_a_closed_channel_comes_with_what_to_do(code: int, advice: str) -> None:
    closed = ChannelError(code, "CLOSED")
    assert advice in describe(closed)
    told = ConfigurationError("there is no queue 'q'")
    told.__cause__ = closed
    assert describe(told).startswith("there is no queue 'q' (")
    assert advice in describe(told)
    assert describe(ChannelError(406, "PRECONDITION_FAILED")) == "406 PRECONDITION_FAILED"


def test_a_package_that_is_not_there_is_named_with_its_extra() -> None:
    missing = ModuleNotFoundError("No module named 'h11'", name="h11")
    assert describe(missing) == "h11 is not installed; run: pip install 'mqkit[broker]'"
