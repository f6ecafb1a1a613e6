"""Whose tests are run: which source distribution, which part of it, what it needs."""

from __future__ import annotations

from dataclasses import dataclass

TOOLS = ("pytest>=8.4,<10", "pytest-timeout", "pytest-rerunfailures")
"""The packages that every suite is run with."""

OF_AIORMQ_AND_KOMBU = (
    "aiomisc>=18",
    "aiomisc-pytest>=2",
    "aiormq>=6.8,<7",
    "pamqp==3.3.0",
    "yarl",
    "shortuuid",
    "timeout-decorator",
    "vine==5.1.0",
    "amqp>=5.4.2,<6",
    "tzdata",
    "packaging",
)
"""The packages that four of the suites import beside the client under test: that one is taken from
its own source distribution, whose folder each suite runs in. (aiormq is what aio-pika stands
on.)"""

OF_PAMQP_4 = ("pamqp>=4,<5", "requests>2", "python-dotenv")

OF_CELERY = ("celery==5.5.3", "kombu>=5.5", "pytest-celery", "redis", "pydantic>=2")
"""Redis is imported by its tests, and is not needed where results come over AMQP."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of one client. ``distribution`` is what the package client is asked for, and
    ``requirements`` are the packages that its tests import."""

    name: str
    version: str
    requirements: tuple[str, ...]
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def distribution(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def folder(self) -> str:
        """The folder that the source distribution unpacks to."""
        return f"{self.name.replace('-', '_')}-{self.version}"


WITHOUT_TLS = ("-k", "not amqps and not tls")
"""The same tests again over TLS. Neither broker has a certificate here, and each such test tries
for many seconds to reach one."""

WITHOUT_ASYNCIO = ("-p", "no:asyncio")

SUITES = (
    Suite(
        *("aio-pika", "9.6.2", OF_AIORMQ_AND_KOMBU, ("tests",)),
        options=(*WITHOUT_ASYNCIO, *WITHOUT_TLS),
    ),
    Suite(
        *("aiormq", "9.6.4", OF_AIORMQ_AND_KOMBU, ("tests",)),
        options=(*WITHOUT_ASYNCIO, *WITHOUT_TLS),
    ),
    Suite("amqp", "5.4.2", OF_AIORMQ_AND_KOMBU, ("t/integration",), WITHOUT_TLS),
    Suite(
        *("kombu", "5.7.0", OF_AIORMQ_AND_KOMBU, ("t/integration/test_py_amqp.py",)),
        options=WITHOUT_TLS,
    ),
    Suite(
        *("amqpstorm", "3.1.4", OF_PAMQP_4, ("amqpstorm/tests/functional",)),
        options=("--ignore", "amqpstorm/tests/functional/ssl"),
    ),
    Suite(
        *("celery", "5.5.3", OF_CELERY),
        ("t/integration/test_inspect.py", "t/integration/test_loader.py"),
    ),
    Suite("rabbitpy", "3.0.2", OF_PAMQP_4, ("tests/test_integration.py", "tests/integration")),
)
