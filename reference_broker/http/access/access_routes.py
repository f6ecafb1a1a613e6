"""The paths of users, permissions and limits."""

from __future__ import annotations

from starlette.routing import Route

from reference_broker.http.access.access_limits import UserLimits, VHostLimits
from reference_broker.http.access.permissions import Permissions, TopicPermissions
from reference_broker.http.access.users import Users
from reference_broker.http.request.host import Host


def access_routes(host: Host) -> list[Route]:
    """Every path of users, permissions and limits."""
    users = Users(host)
    permissions, topics = Permissions(host), TopicPermissions(host)
    vhost_limits, user_limits = VHostLimits(host), UserLimits(host)
    user, vhost = "/api/users/{user:name}", "/api/vhosts/{vhost:name}"
    permission = "/api/permissions/{vhost:name}/{user:name}"
    topic = "/api/topic-permissions/{vhost:name}/{user:name}"
    vhost_limit = "/api/vhost-limits/{vhost:name}/{name:name}"
    user_limit = "/api/user-limits/{user:name}/{name:name}"
    return [
        Route("/api/users", users.index),
        Route("/api/users/without-permissions", users.without_permissions),
        Route("/api/users/bulk-delete", users.bulk_delete, methods=["POST"]),
        Route(user, users.show),
        Route(user, users.put, methods=["PUT"]),
        Route(user, users.delete, methods=["DELETE"]),
        Route(user + "/permissions", users.permissions),
        Route(user + "/topic-permissions", users.topic_permissions),
        Route(vhost + "/permissions", permissions.of_vhost),
        Route(vhost + "/topic-permissions", topics.of_vhost),
        Route("/api/permissions", permissions.index),
        Route(permission, permissions.show),
        Route(permission, permissions.put, methods=["PUT"]),
        Route(permission, permissions.delete, methods=["DELETE"]),
        Route("/api/topic-permissions", topics.index),
        Route(topic, topics.show),
        Route(topic, topics.put, methods=["PUT"]),
        Route(topic, topics.delete, methods=["DELETE"]),
        Route(topic + "/{exchange:name}", topics.show),
        Route(topic + "/{exchange:name}", topics.delete, methods=["DELETE"]),
        Route("/api/vhost-limits", vhost_limits.index),
        Route("/api/vhost-limits/{vhost:name}", vhost_limits.index),
        Route(vhost_limit, vhost_limits.put, methods=["PUT"]),
        Route(vhost_limit, vhost_limits.delete, methods=["DELETE"]),
        Route("/api/user-limits", user_limits.index),
        Route("/api/user-limits/{user:name}", user_limits.index),
        Route(user_limit, user_limits.put, methods=["PUT"]),
        Route(user_limit, user_limits.delete, methods=["DELETE"]),
    ]
