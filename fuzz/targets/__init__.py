"""All targets, by name."""

from fuzz.target import Target
from fuzz.targets import (
    conversation,
    frames,
    headers,
    json_bodies,
    link_frames,
    methods,
    proxy_headers,
    segments,
    tables,
    watch_streams,
)

TARGETS: dict[str, Target] = {
    module.TARGET.name: module.TARGET
    for module in (
        frames,
        methods,
        headers,
        tables,
        json_bodies,
        segments,
        link_frames,
        proxy_headers,
        watch_streams,
        conversation,
    )
}
