"""The brokers that follow from --url and --management-url."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit_cli.connection import endpoints_of, in_vhost, target_of
from mqkit_cli.errors import CommandError


@pytest.mark.parametrize(
    ("url", "management_url"),
    [
        ("amqp://mq1/", "http://guest:guest@mq1:15672"),
        ("amqps://app:s%2Fcret@mq1:5000/shop", "https://app:s%2Fcret@mq1:15671"),
        ("amqp://[::1]:5000/", "http://guest:guest@[::1]:15672"),
    ],
)
def test_the_management_url_is_derived(url: str, management_url: str) -> None:
    target = target_of(url, None)
    assert target.management_url == management_url
    assert target.is_derived


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://mq2:8080/rabbit", "http://app:p%40ss@mq2:8080/rabbit"),
        ("http://other:x@mq2", "http://other:x@mq2"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_management_url_without_a_login_gets_that_of_the_url(given: str, used: str) -> None:
    target = target_of("amqp://app:p%40ss@mq1/", given)
    assert target.management_url == used
    assert not target.is_derived


def test_a_management_url_alone_is_enough_for_reading() -> None:
    target = target_of(None, "http://mq2:8080")
    assert target.management_url == "http://mq2:8080"
    assert target.endpoint.vhost == "/"


def test_several_hosts() -> None:
    hosts = [place.host for place in endpoints_of("amqp://mq1/, amqp://mq2/")]
    assert hosts == ["mq1", "mq2"]


@pytest.mark.parametrize("url", [None, "", " , "])
def test_no_broker(url: str | None) -> None:
    with pytest.raises(CommandError, match="--url"):
        endpoints_of(url)


def test_a_bad_url() -> None:
    with pytest.raises(ConfigurationError, match="amqp://"):
        endpoints_of("mq1")


def test_the_vhost_of_the_file() -> None:
    plain = target_of("amqp://mq1/", None)
    assert in_vhost(plain, None) == plain
    assert in_vhost(plain, "shop").endpoint.vhost == "shop"
    shop = target_of("amqp://mq1/shop", None)
    assert in_vhost(shop, "shop") == shop
    with pytest.raises(CommandError, match=r"'other'.*'shop'"):
        in_vhost(shop, "other")
