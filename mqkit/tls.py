"""TLS as a client sets it up: whom to trust, what to show, which name to expect.

In a URL it stands behind the question mark, by the names of RabbitMQ's URI query parameters
(rabbitmq.com/docs/uri-query-parameters)::

    amqps://app:secret@mq1/?cacertfile=/etc/mq/ca.pem&certfile=app.pem&keyfile=app.key
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from mqkit.errors import ConfigurationError

_VERIFY = {"verify_peer": True, "verify_none": False}


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The files are PEM; without ``cacertfile`` the system's authorities are trusted.
    ``server_name`` is the name that the server's certificate must have, where it is not the host of
    the URL. With ``verify`` off anybody may be the server: for tests only."""

    cacertfile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    server_name: str | None = None
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """Reads the files. Raises :exc:`~mqkit.errors.ConfigurationError` naming the one that
        can't be used."""
        try:
            context = ssl.create_default_context(cafile=self.cacertfile)
        except (OSError, ValueError) as error:
            raise _unusable(f"cacertfile {self.cacertfile}", error) from None
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certfile is not None:
            try:
                context.load_cert_chain(self.certfile, self.keyfile)
            except (OSError, ValueError) as error:
                files = f"certfile {self.certfile} with keyfile {self.keyfile or self.certfile}"
                raise _unusable(files, error) from None
        return context

    def request_extensions(self) -> dict[str, str]:
        """The extensions for an HTTP request of httpx, to be given beside the context."""
        return {} if self.server_name is None else {"sni_hostname": self.server_name}

    def query(self) -> str:
        """The options as a URL's query; empty where all are the defaults."""
        given = {
            "cacertfile": self.cacertfile,
            "certfile": self.certfile,
            "keyfile": self.keyfile,
            "server_name_indication": self.server_name,
            "verify": None if self.verify else "verify_none",
        }
        return urlencode({name: value for name, value in given.items() if value is not None})


DEFAULT_TLS = TlsOptions()


def query_parameters(query: str) -> Mapping[str, str]:
    """A URL's parameters by name; the last one wins."""
    return dict(parse_qsl(query, keep_blank_values=True))


_PARAMETERS = ("cacertfile", "certfile", "keyfile", "server_name_indication", "verify")


def said_of_tls(parameters: Mapping[str, str]) -> list[str]:
    """Names of the URL parameters about TLS that ``parameters`` has."""
    return [name for name in _PARAMETERS if name in parameters]


def tls_options(parameters: Mapping[str, str], is_tls: bool) -> TlsOptions:
    """The TLS options of a URL, checked against its scheme. Parameters about other things are
    ignored.

    Raises :exc:`~mqkit.errors.ConfigurationError`.
    """
    said = said_of_tls(parameters)
    if said and not is_tls:
        raise ConfigurationError(
            f"the URL has {said[0]}, and its scheme is the one without TLS (amqps:// and https://"
            " speak TLS)"
        )
    verify = parameters.get("verify", "verify_peer")
    if verify not in _VERIFY:
        raise ConfigurationError(f"verify={verify} in the URL: verify_peer or verify_none")
    options = TlsOptions(
        parameters.get("cacertfile"),
        parameters.get("certfile"),
        parameters.get("keyfile"),
        parameters.get("server_name_indication"),
        _VERIFY[verify],
    )
    check_tls(options, _named_in_a_url)
    return options


def check_tls(options: TlsOptions, named: Callable[[str], str]) -> None:
    """Check that ``options`` make sense together; the files are not looked at. ``named`` gives the
    name by which the user has written a field.

    Raises :exc:`~mqkit.errors.ConfigurationError`.
    """
    for field in ("cacertfile", "certfile", "keyfile", "server_name"):
        if getattr(options, field) == "":
            raise ConfigurationError(f"{named(field)} is empty")
    if options.keyfile is not None and options.certfile is None:
        raise ConfigurationError(
            f"{named('keyfile')} is given, and no {named('certfile')} that it belongs to"
        )
    name = options.server_name
    if name is not None and not is_host_name(name):
        raise ConfigurationError(f"{named('server_name')} can't be the name of a host: {name!r}")


def is_host_name(name: str) -> bool:
    """Can ``name`` be asked for, as a name or an address? Python has no better error for one that
    can't be encoded for DNS (RFC 3490) than a ``UnicodeError`` from within."""
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return name.isprintable() and not any(each.isspace() for each in name)


def _named_in_a_url(field: str) -> str:
    return f"{'server_name_indication' if field == 'server_name' else field} in the URL"


def _unusable(what: str, error: Exception) -> ConfigurationError:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return ConfigurationError(f"TLS: {what} can't be used: {reason}")
