"""The options of a connection, the same for every direction: the broker, by which library, and the
time to reach it.

The URL holds a password. Spark writes options down (in plans, the UI, the event log), so a job can
name a file or an environment variable instead, which is read in the driver's planner and again in
each worker; the URL itself travels nowhere then.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from mqkit.errors import ConfigurationError
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.seam import Endpoint
from mqkit.url import parse
from mqkit_spark.options import checks
from mqkit_spark.options.table import Reader
from mqkit_spark.options.values import seconds, text

URL_FILE_BYTES_MAX = 64 * 1024
"""A file with some URLs; another one was named by mistake, and is not read into memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """One of ``url``, ``url_file`` and ``url_env`` says where the broker is: one URL, or several of
    one cluster separated by commas or in lines, tried in this order.

    Raises :exc:`~mqkit.errors.ConfigurationError` for values that can't be, without the URL.
    """

    url: str | None = field(default=None, repr=False)
    url_file: str | None = None
    url_env: str | None = None
    connect_timeout_s: float = 30.0
    transport: BlockingChoice = BlockingChoice.NATIVE

    def __post_init__(self) -> None:
        given = [name for name in URL_OPTIONS if getattr(self, name) is not None]
        if not given:
            raise ConfigurationError(
                'option url is missing (example: .option("url",'
                ' "amqp://user:password@host:5672/"; urlFile or urlEnv keep it out of plans)'
            )
        if len(given) > 1:
            raise ConfigurationError("give one of the options url, urlFile and urlEnv, not several")
        if self.url is not None:
            endpoints_of(self.url)
        checks.choices(self, {"transport": BlockingChoice})
        checks.positive_seconds(self, ("connect_timeout_s",))

    def endpoints(self) -> tuple[Endpoint, ...]:
        """The brokers to connect to, in order. Reads the file or the variable, in the process that
        calls this; raises :exc:`~mqkit.errors.ConfigurationError` naming it where that can't be.
        """
        if self.url_file is not None:
            return _said_by(f"urlFile {self.url_file}", _file_text(self.url_file))
        if self.url_env is not None:
            value = os.environ.get(self.url_env)
            if not value:
                raise ConfigurationError(
                    f"urlEnv: the environment variable {self.url_env} is not set in this process"
                    " (driver and executors need it: spark.executorEnv.*)"
                )
            return _said_by(f"urlEnv {self.url_env}", value)
        assert self.url is not None
        return endpoints_of(self.url)


URL_OPTIONS = ("url", "url_file", "url_env")

_SEPARATORS = re.compile(r"[,\s]+")
_SCHEMES = ("amqp://", "amqps://")

CONNECTION_READERS: dict[str, Reader] = {
    "url": text,
    "url_file": text,
    "url_env": text,
    "connect_timeout_s": seconds,
    "transport": text,
}


def endpoints_of(urls: str) -> tuple[Endpoint, ...]:
    """The endpoints in a list of URLs. Raises :exc:`~mqkit.errors.ConfigurationError`, which never
    shows a password."""
    parts = [part for part in _SEPARATORS.split(urls) if part]
    if not parts:
        raise ConfigurationError(
            "there is no AMQP URL (example: amqp://user:password@host:5672/; several of one"
            " cluster are separated by commas)"
        )
    # Said here: the error for one URL shows its beginning, which may be the end of a password.
    if not all(part.lower().startswith(_SCHEMES) for part in parts):
        raise ConfigurationError(
            "each AMQP URL begins with amqp:// or amqps:// (a comma in a user name or password is"
            " written with %: %2C)"
        )
    return tuple(map(parse, parts))


def _said_by(source: str, urls: str) -> tuple[Endpoint, ...]:
    try:
        return endpoints_of(urls)
    except ConfigurationError as error:
        raise ConfigurationError(f"{source}: {error}") from None


def _file_text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            octets = file.read(URL_FILE_BYTES_MAX + 1)
        if len(octets) > URL_FILE_BYTES_MAX:
            raise ConfigurationError(f"urlFile {path} is larger than {URL_FILE_BYTES_MAX} bytes")
        return octets.decode()
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise ConfigurationError(f"urlFile {path} can't be read in this process: {why}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"urlFile {path} is not UTF-8 text") from None
    except ValueError:
        raise ConfigurationError(f"urlFile {path!r} can't be the name of a file") from None
