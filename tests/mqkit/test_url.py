"""mqkit.url: what is a URL, and how one is shown."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit.transport.seam import Credentials, Endpoint
from mqkit.url import parse, redact


@pytest.mark.parametrize(
    "url",
    [
        "amqp://127.0.0.1:0/",
        "amqp://127.0.0.1:65536/",
        "amqp://[::1/",
        "amqp://guest:se#cret@host/",
        "amqp://guest:se/cret@host/",
        "amqp://guest:cret℀@host/",
        "guest:cret@host",
        "amqp:///vhost",
        "amqp://guest:cret@a..b/",
        f"amqp://{'x' * 64}/",
        "http://host/",
        "",
    ],
)
def test_what_is_no_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(url)
    assert "cret" not in str(refused.value)


def test_a_password_that_breaks_the_url_is_told_how_to_be_written() -> None:
    with pytest.raises(ConfigurationError, match="%23"):
        parse("amqp://guest:se#cret@host/")
    assert parse("amqp://guest:se%23cret@host/").credentials.password == "se#cret"


@pytest.mark.parametrize(
    ("endpoint", "shown"),
    [
        (Endpoint(), "amqp://guest:***@127.0.0.1:5672/"),
        (Endpoint("::1", vhost="a/b", tls=True), "amqps://guest:***@[::1]:5672/a%2Fb"),
        (Endpoint(credentials=Credentials("a@b", "x")), "amqp://a%40b:***@127.0.0.1:5672/"),
    ],
)
def test_an_endpoint_is_shown_as_the_url_that_leads_to_it(endpoint: Endpoint, shown: str) -> None:
    assert str(endpoint) == shown
    again = parse(shown)
    assert (again.host, again.port, again.vhost) == (endpoint.host, endpoint.port, endpoint.vhost)


@pytest.mark.parametrize(
    "url",
    [
        "amqp://[::1/",
        "amqp://u:cret@[::1/",
        "amqp://u:cret@h/",
        "amqp://u:se/cret@h/",
        "amqp://u:se#cret@h/",
        "amqp://u:cret℀@h/",
        "u:cret@h:15672",
    ],
)
def test_redacting_never_raises_and_never_shows(url: str) -> None:
    assert "cret" not in redact(url)


@pytest.mark.parametrize("url", ["amqp://h:5672/v", "amqp://user@h/", "amqp://h/a@b", "nothing"])
def test_what_has_no_password_is_shown_as_it_is(url: str) -> None:
    assert redact(url) == url
