"""The paths of policies and parameters."""

from __future__ import annotations

from starlette.routing import Route

from reference_broker.core.policy.policy import PolicyKind
from reference_broker.http.policies.global_parameters import GlobalParameterPages
from reference_broker.http.policies.parameters import Parameters
from reference_broker.http.policies.policies import PolicyPages
from reference_broker.http.request.host import Host


def policy_routes(host: Host) -> list[Route]:
    """Every path below ``/api/policies``, ``operator-policies``, ``parameters`` and
    ``global-parameters``."""
    routes = []
    for path, kind in (("policies", PolicyKind.USER), ("operator-policies", PolicyKind.OPERATOR)):
        pages = PolicyPages(host, kind)
        routes += _listed(f"/api/{path}", pages)
        routes += _listed(f"/api/{path}/{{vhost:name}}", pages)
        routes += _one(f"/api/{path}/{{vhost:name}}/{{policy:name}}", pages)
    parameters = Parameters(host)
    routes += _listed("/api/parameters", parameters)
    routes += _listed("/api/parameters/{component:name}", parameters)
    routes += _listed("/api/parameters/{component:name}/{vhost:name}", parameters)
    routes += _one("/api/parameters/{component:name}/{vhost:name}/{name:name}", parameters)
    global_parameters = GlobalParameterPages(host)
    routes += _listed("/api/global-parameters", global_parameters)
    routes += _one("/api/global-parameters/{name:name}", global_parameters)
    return routes


_Pages = PolicyPages | Parameters | GlobalParameterPages


def _listed(path: str, pages: _Pages) -> list[Route]:
    return [Route(path, pages.index)]


def _one(path: str, pages: _Pages) -> list[Route]:
    return [
        Route(path, pages.show),
        Route(path, pages.put, methods=["PUT"]),
        Route(path, pages.delete, methods=["DELETE"]),
    ]
