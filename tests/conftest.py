"""Fixtures that every test may use: the brokers that the same tests run against."""

from __future__ import annotations

import gc
import itertools
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pika
import pytest

from interop.elsewhere.cluster import CLIENTS, queues_elsewhere
from mqkit.testing import (
    ClusterUnavailable,
    Etcd,
    EtcdUnavailable,
    PostgreSQL,
    PostgreSQLUnavailable,
    RabbitMQUnavailable,
    etcd,
    postgresql,
    rabbitmq,
)
from mqkit.testing.rabbitmq import URL_VARIABLE
from mqkit.testing.rabbitmq_node import server_script
from mqkit.testing.servers.free_ports import HOST

ON_CLUSTER = "--on-cluster"

STOP_TIMEOUT_S = 15

STATISTICS_EVERY_S = 0.5
"""Hundreds of tests wait for RabbitMQ's own counts, which are up to 5 s old by its default."""

ETCD_PROGRESS_EVERY_S = 0.2
"""A watch that has nothing to tell says so each 10 minutes by etcd's default."""

ROOMS_WITH_BROKERS = (
    "fuzz", "interop", "mqkit", "mqkit_bench", "mqkit_cli", "mqkit_spark", "mutants", "page",
    "reference_broker/http", "reference_broker/runtime", "reference_broker/simulation",
)  # fmt: skip
"""Nearly every test there starts a broker, a process or a simulated world."""
ROOMS_WITHOUT = ("mqkit/retry", "mqkit/testing", "mqkit/topology", "mqkit/wire")
"""And these within them don't."""

# Spark's programs here live for seconds: half of their time would go into compiling what runs once.
_SHORT_LIVED_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CLASSES = Path(sys.prefix) / "spark-classes.jsa"  # see spark_classes.py; it need not be there
if " " not in str(_CLASSES):
    _SHORT_LIVED_JVM += f" -XX:SharedArchiveFile={_CLASSES} -Xlog:disable -Xlog:all=error:stderr"
_OF_EXECUTORS = f'-Dspark.executor.extraJavaOptions="{_SHORT_LIVED_JVM}"'
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{_SHORT_LIVED_JVM} {_OF_EXECUTORS}")
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", _SHORT_LIVED_JVM)

# Machines are shared and noisy: no test asserts a time, Hypothesis' own clock included.
hypothesis.settings.register_profile("mqkit", deadline=None)
hypothesis.settings.load_profile("mqkit")


@dataclass(frozen=True, slots=True)
class BrokerUnderTest:
    """A running broker: the reference broker, or RabbitMQ. ``others`` are the management URLs of
    nodes beside the one of the clients."""

    name: str
    url: str
    management_url: str
    others: tuple[str, ...] = ()

    @property
    def is_reference(self) -> bool:
        return self.name == "reference"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the shape in which tests/acceptance is played once more."""
    parser.addoption(
        ON_CLUSTER,
        action="store_true",
        help="our broker is two nodes: clients at one, queues at the other; RabbitMQ is left out",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks whole rooms, so that `make check` stays quick however many tests they get; and leaves
    out RabbitMQ where our broker is played as a cluster."""
    if config.getoption(ON_CLUSTER):
        _leave_out(config, items, _plays_rabbitmq)
    for path, of_module in itertools.groupby(items, lambda item: item.path):
        if _is_live(path):
            for item in of_module:
                item.add_marker(pytest.mark.live)


def _leave_out(
    config: pytest.Config, items: list[pytest.Item], rule: Callable[[pytest.Item], bool]
) -> None:
    left_out = [item for item in items if rule(item)]
    items[:] = [item for item in items if item not in set(left_out)]
    config.hook.pytest_deselected(items=left_out)


def _plays_rabbitmq(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("broker") == "rabbitmq"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A module of live tests is not imported where they are left out: half of them are."""
    leaves_out_live = "not live" in config.getoption("markexpr").split(" and ")
    return True if leaves_out_live and _is_live(collection_path) else None


def _is_live(path: Path) -> bool:
    """A module of which every test is marked so."""
    return (
        path.name.startswith("test_")
        and _stands_in(path, ROOMS_WITH_BROKERS)
        and not _stands_in(path, ROOMS_WITHOUT)
    )


def _stands_in(path: Path, rooms: Iterable[str]) -> bool:
    here = Path(__file__).parent
    return any(path.is_relative_to(here / room) for room in rooms)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Has the collector leave alone what stays until the end: ten thousand tests."""
    gc.collect()
    gc.freeze()


REFUSING = """import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refused())
"""


@pytest.fixture
def without(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, str]]:
    """Environments for a Python in which some packages are as good as not installed. No variable of
    mqkit's own is in them."""

    def environment(*packages: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("without")
        (folder / "sitecustomize.py").write_text(REFUSING.format(packages=packages))
        kept = {name: text for name, text in os.environ.items() if not name.startswith("MQKIT_")}
        paths = (str(folder), os.environ.get("PYTHONPATH", ""))
        return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    return environment


@pytest.fixture
def anyio_backend() -> str:
    """aio-pika speaks asyncio, so that is what async tests run on."""
    return "asyncio"


@pytest.fixture(scope="session")
def reference_broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerUnderTest]:
    """Our broker, with a data folder of its own, for the whole session."""
    if request.config.getoption(ON_CLUSTER):
        yield from _two_nodes()
    else:
        yield from _one_node(tmp_path_factory.mktemp("reference-broker"))


def _two_nodes() -> Iterator[BrokerUnderTest]:
    """The node of the clients; the queues are on another one."""
    try:
        with queues_elsewhere() as cluster:
            places = {
                each.name: f"http://{HOST}:{each.management_port}"
                for each in cluster.nodes.values()
            }
            own = places.pop(CLIENTS)
            yield BrokerUnderTest("reference", cluster[CLIENTS].url, own, tuple(places.values()))
    except ClusterUnavailable as why:
        pytest.skip(str(why))


def _one_node(data_dir: Path) -> Iterator[BrokerUnderTest]:
    """`mqkit broker run` on free ports."""
    command = [sys.executable, "-m", "mqkit_cli", "broker", "run"]
    command += ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(data_dir)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().split()
        assert line[:1] == ["ready"], f"the reference broker did not start: {line}"
        places = dict(part.split("=", 1) for part in line[1:])
        yield BrokerUnderTest(
            "reference", f"amqp://guest:guest@{places['amqp']}/", f"http://{places['http']}"
        )
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def rabbitmq_broker() -> Iterator[BrokerUnderTest]:
    """RabbitMQ, from wherever `mqkit.testing.rabbitmq` finds one; else the test is skipped."""
    try:
        with rabbitmq(
            environ=_environment_of_this_worker(), statistics_every_s=STATISTICS_EVERY_S
        ) as found:
            if found.management_url is None:
                pytest.skip(f"{found!r} has no known management URL")
            yield BrokerUnderTest("rabbitmq", found.url, found.management_url)
    except RabbitMQUnavailable as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQL]:
    """A private PostgreSQL; else the test is skipped."""
    try:
        with postgresql() as found:
            yield found
    except PostgreSQLUnavailable as why:
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def etcd_server() -> Iterator[Etcd]:
    """A private etcd of one member; else the test is skipped. It is left up, and each test has a
    prefix of its own there."""
    try:
        with etcd(progress_every_s=ETCD_PROGRESS_EVERY_S) as found:
            yield found
    except EtcdUnavailable as why:
        pytest.skip(str(why))


def _environment_of_this_worker() -> dict[str, str]:
    """Tests look at the users, counters and queues of their RabbitMQ, so of xdist's workers only
    the first takes the one that the environment names; others start their own, if they can."""
    environ = dict(os.environ)
    if environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0" and server_script(environ) is not None:
        environ.pop(URL_VARIABLE, None)
    return environ


@pytest.fixture(params=["reference", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def broker(request: pytest.FixtureRequest) -> BrokerUnderTest:
    """Both brokers in turn: what a test with this fixture says is true of either."""
    found: BrokerUnderTest = request.getfixturevalue(f"{request.param}_broker")
    return found


_RUN = secrets.token_hex(4)
"""A broker that somebody else runs may remember an earlier run of these tests."""
_numbers = itertools.count()


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """Names for exchanges and queues that no other test uses. Where the test uses ``broker``, what
    has such a name is deleted there afterwards, for the broker may be one that lives on."""
    prefix = f"{request.node.name.partition('[')[0]}.{_RUN}.{next(_numbers)}"
    names: list[str] = []

    def remembered(name: str) -> str:
        names.append(f"{prefix}.{name}")
        return names[-1]

    broker = request.getfixturevalue("broker") if "broker" in request.fixturenames else None
    yield remembered
    if broker is not None and names:
        _delete(broker.url, names)


def _delete(url: str, names: list[str]) -> None:
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        for name in names:
            try:
                with connection.channel() as channel:
                    channel.queue_delete(name)
                    channel.exchange_delete(name)
            except pika.exceptions.ChannelClosedByBroker:
                continue  # exclusive to a connection that the test has not closed yet
