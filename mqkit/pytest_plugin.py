"""The pytest plugin: ``mqkit_broker``, ``mqkit_topology`` and ``mqkit_app`` as fixtures.

pytest imports it in every run of whoever has mqkit installed. So it stands outside of
:mod:`mqkit.testing`, and loads nothing but pytest before the first test that uses a fixture.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from mqkit import App
    from mqkit.app_arguments import TopologyFiles
    from mqkit.testing.broker import Broker
    from mqkit.testing.virtual_time.clock import VirtualClock
    from mqkit.topology import Topology

_BROKER_THREAD = "mqkit.testing.in_process.broker_thread"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mqkit")
    group.addoption(
        "--mqkit-broker",
        metavar="URL",
        help="run the tests on the broker at this AMQP URL, and not on one in this process",
    )
    group.addoption(
        "--mqkit-management",
        metavar="URL",
        help="its management API (else the same host and login, port 15672)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        'mqkit_app(place): the app of the fixture mqkit_app, as "module:name": of an app, or of a'
        " function that makes one",
    )


def pytest_unconfigure() -> None:
    """The broker's thread ends with the run, and not only with the process."""
    if (loaded := sys.modules.get(_BROKER_THREAD)) is not None:
        loaded.BrokerThread.stop_of_process()


@pytest.fixture
def mqkit_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """An empty virtual host for this test, on a broker in this process or at ``--mqkit-broker``."""
    url = request.config.getoption("--mqkit-broker")
    if url is None:
        with _reference_broker() as broker:
            yield broker
        return
    from mqkit.errors import MqkitError
    from mqkit.testing.over_management import broker_at

    making = broker_at(url, request.config.getoption("--mqkit-management"), _skip)
    try:
        elsewhere = making.__enter__()
    except MqkitError as error:
        pytest.fail(f"--mqkit-broker: {error} (--mqkit-management=URL)", pytrace=False)
    try:
        yield elsewhere
    finally:
        making.__exit__(None, None, None)


def _reference_broker() -> AbstractContextManager[Broker]:
    try:
        from mqkit.testing.in_process.vhost import reference_broker
    except ModuleNotFoundError as missing:
        from mqkit.extras import advice

        if (told := advice(missing, "pytest")) is None:
            raise
        pytest.fail(f"the broker of the tests: {told}", pytrace=False)
    return reference_broker()


def _skip(what: str) -> NoReturn:
    pytest.skip(f"{what} only with the broker in the test's process, without --mqkit-broker")


@pytest.fixture
def mqkit_topology() -> TopologyFiles | Topology | None:
    """The topology of an app that no ``mqkit_app_factory`` makes: override it with a fixture that
    returns the path of its file."""
    return None


@pytest.fixture
def mqkit_app_factory(
    request: pytest.FixtureRequest, mqkit_topology: TopologyFiles | Topology | None
) -> Callable[[], App]:
    """The function that makes the app under test: that of the marker ``mqkit_app``, or one that
    makes an app without consumers, of ``mqkit_topology``. Override it with a fixture of the same
    name."""
    marker = request.node.get_closest_marker("mqkit_app")
    if marker is not None:
        from mqkit.testing.application import app_named

        return lambda: app_named(*marker.args)
    from mqkit import App

    return lambda: App(topology=mqkit_topology)


@pytest.fixture
def mqkit_clock(mqkit_broker: Broker) -> VirtualClock:
    """The clock of ``mqkit_broker`` and of ``mqkit_app``: it stands still until the test moves it.
    Skips the test with ``--mqkit-broker``."""
    return mqkit_broker.clock


@pytest.fixture
async def mqkit_app(
    request: pytest.FixtureRequest, mqkit_broker: Broker, mqkit_app_factory: Callable[[], App]
) -> AsyncIterator[App]:
    """The app under test, running on ``mqkit_broker``: for tests that are coroutines. It has the
    clock where the test has ``mqkit_clock``. It drains when the test is over."""
    if "mqkit_clock" in request.fixturenames:
        request.getfixturevalue("mqkit_clock")
    from mqkit.testing.application import made_by, running

    async with running(made_by(mqkit_app_factory), mqkit_broker) as app:
        yield app


@pytest.fixture
def mqkit_service(
    request: pytest.FixtureRequest, mqkit_broker: Broker, mqkit_app_factory: Callable[[], App]
) -> Iterator[App]:
    """As ``mqkit_app``, on a thread of its own: for tests that are no coroutines. What the app has
    to do, others ask for: pika, or a client on another connection."""
    if "mqkit_clock" in request.fixturenames:
        request.getfixturevalue("mqkit_clock")
    from anyio.from_thread import start_blocking_portal

    from mqkit.testing.application import made_by, running

    made = running(made_by(mqkit_app_factory), mqkit_broker)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(made) as app:
        yield app
