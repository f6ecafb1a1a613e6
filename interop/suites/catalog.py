"""Whose tests are run: which source distribution, which part of it, what it needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of one client. ``distribution`` is what the package client is asked for."""

    name: str
    version: str
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def distribution(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def folder(self) -> str:
        """What the source distribution unpacks to."""
        return f"{self.name.replace('-', '_')}-{self.version}"


WITHOUT_TLS = ("-k", "not amqps and not tls")
"""The same tests again over TLS. Neither broker has a certificate here, and each such test tries
for many seconds to reach one."""

SUITES = (
    Suite("aio-pika", "9.6.2", ("tests",), ("-p", "no:asyncio", *WITHOUT_TLS)),
    Suite("aiormq", "9.6.4", ("tests",), ("-p", "no:asyncio", *WITHOUT_TLS)),
    Suite("amqp", "5.4.2", ("t/integration",), WITHOUT_TLS),
    Suite("kombu", "5.7.0", ("t/integration/test_py_amqp.py",), WITHOUT_TLS),
)

REQUIREMENTS = (
    "pytest>=8.4,<10",
    "pytest-timeout",
    "pytest-rerunfailures",
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
"""What the four suites import beside the client that is tested: that one is taken from its own
source distribution, whose folder each suite runs in. (aiormq is what aio-pika stands on.)"""
