"""The page that a request comes from, where a browser says so: a foreign one may change nothing.

A browser that remembers a login for the API sends it along with whatever any page asks of the API.
What a page of another origin may ask without a question beforehand (CORS's simple requests: a form,
or a text) would be done in the name of whoever has logged in. Such a request carries headers that
no script can set: ``Sec-Fetch-Site`` (Fetch Metadata), and from older browsers, or where the API is
reached without TLS under a name, ``Origin`` (RFC 6454). Programs that are no browsers send neither.
"""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers

from reference_broker.http.request.answer import ApiError

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing. The browser itself keeps what they show from foreign pages."""

_OURS = ("same-origin", "none")
"""Values of ``Sec-Fetch-Site`` of our own page, and of what the user typed. ``same-site`` is
another origin: another port of this machine, for example."""

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def foreign_origin(headers: Headers) -> str | None:
    """The origin of a request that a browser sends for a page of somebody else's; ``None`` for our
    own page, and for a program that is no browser. ``Sec-Fetch-Site`` is believed first: a proxy
    may have changed ``Host``, with which ``Origin`` is compared."""
    origins = headers.getlist("origin")
    sites = headers.getlist("sec-fetch-site")
    if sites:
        ours = all(site in _OURS for site in sites)
        return None if ours else (origins or sites)[0]
    host = headers.get("host", "").lower()
    return next((origin for origin in origins if not _is_of(origin.lower(), host)), None)


def refusal_of_foreign(method: str, headers: Headers) -> ApiError | None:
    """The answer to a change that a page of another origin asks for: 403."""
    if method in SAFE_METHODS:
        return None
    origin = foreign_origin(headers)
    if origin is None:
        return None
    return ApiError(
        HTTPStatus.FORBIDDEN,
        "forbidden",
        f"a browser sent this for a page of another origin ({origin}), which may change nothing",
    )


def _is_of(origin: str, host: str) -> bool:
    """True if the origin is the page of ``host``. The scheme is not compared: TLS may end before
    us."""
    scheme, separator, authority = origin.partition("://")
    port = _DEFAULT_PORTS.get(scheme, "")
    return bool(separator) and authority.removesuffix(port) == host.removesuffix(port)
