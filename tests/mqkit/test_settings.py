"""Settings: where they come from, and that they keep their secrets."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from mqkit.errors import ConfigurationError
from mqkit.settings import MESSAGE_BYTES_MAX, Settings


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("MQKIT_URL", "MQKIT_URLS", "MQKIT_TRANSPORT"):
        monkeypatch.delenv(variable, raising=False)


def test_the_defaults_are_a_broker_on_this_machine() -> None:
    [endpoint] = Settings.load().endpoints
    assert (endpoint.host, endpoint.port, endpoint.vhost) == ("127.0.0.1", 5672, "/")
    assert Settings.load().max_message_bytes == MESSAGE_BYTES_MAX == 16 * 1024 * 1024


def test_several_hosts_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQKIT_URLS", "amqp://a:1@mq1/shop, amqps://a:1@mq2/shop")
    monkeypatch.setenv("MQKIT_HEARTBEAT_S", "7")
    settings = Settings.load()
    assert [endpoint.host for endpoint in settings.endpoints] == ["mq1", "mq2"]
    assert settings.heartbeat_s == 7


def test_the_transport_is_native_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings.load().transport == "native"
    monkeypatch.setenv("MQKIT_TRANSPORT", "aio-pika")
    assert Settings.load().transport == "aio-pika"
    with pytest.raises(ConfigurationError, match="no transport 'rabbit', but these: native"):
        Settings.load(transport="rabbit")


def test_a_single_url_will_do_and_the_plural_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQKIT_URL", "amqp://one/")
    assert Settings.load().endpoints[0].host == "one"
    monkeypatch.setenv("MQKIT_URLS", "amqp://many/")
    assert Settings.load().endpoints[0].host == "many"


def test_arguments_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQKIT_URLS", "amqp://environment/")
    assert Settings.load(urls=["amqp://argument/"]).endpoints[0].host == "argument"


def test_no_password_shows() -> None:
    settings = Settings.load(urls="amqp://app:s3cret@mq1/")
    for shown in (repr(settings), str(settings), str(settings.model_dump()), f"{settings.urls}"):
        assert "s3cret" not in shown
    assert "amqp://app:***@mq1/" in repr(settings)


@pytest.mark.parametrize(
    "urls", ["http://app:s3cret@mq1/", "amqp://app:s3cret@mq1:port/", "amqp://app:s3cret@/", ""]
)
def test_a_bad_url_is_refused_without_its_password(urls: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings.load(urls=urls)
    assert "s3cret" not in str(refused.value)


def test_not_even_pydantics_own_error_shows_a_password() -> None:
    urls: dict[str, Any] = {"urls": {"url": "amqp://app:s3cret@mq1/"}}
    with pytest.raises(ValidationError) as refused:
        Settings(**urls)
    assert "s3cret" not in str(refused.value)


def test_a_bad_value_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="connect_timeout_s"):
        Settings.load(connect_timeout_s=-1)


def test_what_a_publish_does_while_the_broker_blocks_can_be_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Settings.load().on_blocked == "wait"
    monkeypatch.setenv("MQKIT_ON_BLOCKED", "fail")
    monkeypatch.setenv("MQKIT_PUBLISH_WAITING_BYTES_MAX", "1000")
    settings = Settings.load()
    assert (settings.on_blocked, settings.publish_waiting_bytes_max) == ("fail", 1000)
    for wrong in ({"on_blocked": "drop"}, {"publish_waiting_bytes_max": 0}):
        with pytest.raises(ConfigurationError, match=next(iter(wrong))):
            Settings.load(**wrong)


def test_more_lanes_than_channels_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="channels_max"):
        Settings.load(publish_lanes=9, channels_max=8)
