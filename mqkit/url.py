"""AMQP URLs: parsing, and showing them without their password."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from mqkit.errors import ConfigurationError
from mqkit.tls import is_host_name, query_parameters, tls_options
from mqkit.transport.seam import Credentials, Endpoint

DEFAULT_PORTS = {"amqp": 5672, "amqps": 5671}


def parse(url: str) -> Endpoint:
    """``amqp://user:password@host:port/vhost`` as an :class:`Endpoint`.

    No path or ``/`` is the vhost ``/``; other vhosts are percent-encoded (RabbitMQ URI spec).
    Behind a question mark: what :mod:`mqkit.tls` knows, and ``auth_mechanism=external``.
    Raises :exc:`~mqkit.errors.ConfigurationError`, which never shows the password, nor does a
    traceback with local variables.
    """
    found = _read(url)
    del url
    if isinstance(found, str):
        raise ConfigurationError(found)
    return found


def _read(url: str) -> Endpoint | str:
    """The endpoint, or what is wrong with the URL."""
    try:
        parts = urlsplit(url)
    except ValueError:  # its text may show what was between // and the path
        return (
            "the AMQP URL can't be read (brackets that don't match, or characters that no host"
            " has; in a user name or password they are written with %)"
        )
    if parts.scheme not in DEFAULT_PORTS:
        return (
            "an AMQP URL starts with amqp:// or amqps://, this one with"
            f" {parts.scheme or 'nothing'!r} (example: amqp://guest:guest@127.0.0.1:5672/)"
        )
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        return (
            f"the port of the AMQP URL for host {parts.hostname!r} is not a number from 1 to 65535"
            " (a / # ? : or @ in a user name or password is written with %: %2F %23 %3F %3A %40)"
        )
    if not parts.hostname:
        return "the AMQP URL names no host (example: amqp://127.0.0.1:5672/)"
    if not is_host_name(parts.hostname):
        return f"the AMQP URL's host can't be the name of a host: {parts.hostname!r}"
    parameters = query_parameters(parts.query)
    try:
        options = tls_options(parameters, parts.scheme == "amqps")
        external = _is_external(parameters.get("auth_mechanism", "plain"), parts.scheme)
    except ConfigurationError as error:
        return str(error)
    return Endpoint(
        host=parts.hostname,
        port=DEFAULT_PORTS[parts.scheme] if port is None else port,
        vhost=unquote(parts.path[1:]) or "/",
        credentials=Credentials(
            unquote(parts.username) if parts.username else "guest",
            unquote(parts.password) if parts.password else "guest",
        ),
        tls=parts.scheme == "amqps",
        tls_options=options,
        external=external,
    )


def _is_external(mechanism: str, scheme: str) -> bool:
    if mechanism.lower() == "plain":
        return False
    if mechanism.lower() != "external":
        raise ConfigurationError(f"auth_mechanism={mechanism} in the AMQP URL: plain or external")
    if scheme != "amqps":
        raise ConfigurationError(
            "auth_mechanism=external in the AMQP URL is by a certificate: it needs amqps://"
        )
    return True


def redact(url: str) -> str:
    """The URL with its password as ``***``, for messages and logs. Where it can't be told which
    part that is, nothing up to the last ``@`` is shown. Never raises."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(a URL that can't be read)"
    if parts.password is None:
        before, at, place = url.rpartition("@")
        return f"***@{place}" if at and ":" in before.removeprefix(f"{parts.scheme}://") else url
    userinfo, _, place = parts.netloc.rpartition("@")
    user = userinfo.partition(":")[0]
    return parts._replace(netloc=f"{user}:***@{place}").geturl()
