"""The last line of a program whose app can't start."""

from __future__ import annotations

import pytest

from mqkit.errors import (
    ChannelError,
    ConfigurationError,
    ConnectionRefused,
    MqkitError,
    TopologyError,
)
from mqkit.supervision.final_error import TRACEBACK_VARIABLE, end_program, line_of


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (ConnectionRefused(403, "ACCESS_REFUSED"), "user name and the password"),
        (ConnectionRefused(530, "NOT_ALLOWED - vhost x not found"), "virtual host"),
        (ChannelError(404, "NOT_FOUND - no queue 'q' in vhost '/'"), "topology"),
        (ChannelError(403, "ACCESS_REFUSED"), "set_permissions"),
        (ChannelError(405, "RESOURCE_LOCKED"), "another connection"),
    ],
)
def test_a_line_says_what_the_broker_said_and_what_to_do(error: MqkitError, advice: str) -> None:
    line = line_of(error)
    assert line.startswith(str(error))
    assert advice in line


def test_an_error_that_says_it_itself_stays_as_it_is() -> None:
    assert line_of(ConfigurationError("size=0: too few")) == "size=0: too few"
    assert line_of(ConnectionRefused(541, "INTERNAL_ERROR")) == "541 INTERNAL_ERROR"


def test_many_lines_become_one() -> None:
    assert line_of(TopologyError("t.yaml:1: bad\n  t.yaml:2: bad")) == "t.yaml:1: bad t.yaml:2: bad"


def test_the_program_ends_with_code_1_and_the_error_behind_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)
    error = ConfigurationError("wrong")
    with pytest.raises(SystemExit) as ended:
        end_program(error)
    assert ended.value.code == 1
    assert ended.value.__cause__ is error
    assert capsys.readouterr() == ("", "mqkit: wrong\n")


def test_the_traceback_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    error = ConfigurationError("wrong")
    with pytest.raises(ConfigurationError) as raised:
        end_program(error)
    assert raised.value is error
    assert capsys.readouterr() == ("", "")
