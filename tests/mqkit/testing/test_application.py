"""An app led to a test's broker."""

from __future__ import annotations

import pytest

import mqkit
from mqkit.testing import reference_broker
from mqkit.testing.application import app_named, led_to, made_by, running

APP = mqkit.App("amqp://nobody:secret@127.0.0.1:1/")


def make_app() -> mqkit.App:
    return mqkit.App()


def test_an_app_is_found_by_its_place() -> None:
    assert app_named(f"{__name__}:APP") is APP
    assert app_named(f"{__name__}:make_app") is not app_named(f"{__name__}:make_app")


@pytest.mark.parametrize("place", ["no_such_module:app", f"{__name__}:nothing", "", "os:"])
def test_a_place_without_an_app_is_told(place: str) -> None:
    with pytest.raises(mqkit.ConfigurationError, match=r'mqkit_app\(".*"\) is to name an app'):
        app_named(place)


def test_what_is_no_app_is_told() -> None:
    with pytest.raises(mqkit.ConfigurationError, match=r"an app was to be made, and 7 is none"):
        made_by(lambda: 7)  # type: ignore[arg-type, return-value]


def test_its_settings_are_its_own_again_afterwards() -> None:
    before = APP.settings
    with reference_broker() as broker:
        with led_to(APP, broker):
            assert APP.drain_timeout_s == 1
            assert [each.get_secret_value() for each in APP.settings.urls] == [broker.url]
        assert (APP.settings, APP.drain_timeout_s) == (before, 30)


@pytest.mark.anyio
async def test_it_runs_and_is_ready() -> None:
    app = make_app()
    with reference_broker() as broker:
        async with running(app, broker) as same:
            assert same is app
            assert app.state == "ready"
        assert app.state == "closed"
