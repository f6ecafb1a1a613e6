"""The users that a server begins with: the configuration's, and what earlier runs have stored.

A data folder without users and virtual hosts gets the configured ones, with all permissions in the
default virtual host, as RabbitMQ does at its first start. From then on they are in the log: a guest
who was deleted stays deleted. Users that a configuration names are made to have its password and
tags at every start; everything else about them is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from reference_broker.core.access import access_definition
from reference_broker.core.access.passwords import SALT_BYTES, PasswordHash, hash_password
from reference_broker.core.access.permission import ALL_PERMISSIONS
from reference_broker.core.access.users import User
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.broker import DEFAULT_VHOST, Broker
from reference_broker.core.work.task import Steps, agreed
from reference_broker.core.work.until import Until
from reference_broker.errors import ConnectionException
from reference_broker.runtime.config import GUEST, UserConfig
from reference_broker.runtime.process.password_thread import argon2id, is_right

RETRY_S = 1.0
"""Seconds until the other nodes are asked again, where that has failed."""


def establish_users(broker: Broker, configured: tuple[UserConfig, ...]) -> None:
    """Make the users of the first start, and those that the configuration names. Call it once,
    after the broker was restored and before anybody can connect. Blocks for some 40 ms for each
    configured user."""
    broker.access.loopback_users = frozenset(user.name for user in configured if user.loopback_only)
    first_start = broker.is_new
    broker.note_set_up()
    if first_start:
        broker.add_vhost(DEFAULT_VHOST, VHostInfo("Default virtual host"))
    elif configured == (GUEST,):
        return  # it is the default, and was made before
    for user in configured:
        is_known = user.name in broker.users
        _establish(broker, user)
        if (first_start or not is_known) and DEFAULT_VHOST in broker.vhosts:
            broker.access.allow_everything(user.name, DEFAULT_VHOST)


def first_definitions(configured: tuple[UserConfig, ...]) -> dict[str, bytes]:
    """The definitions that a cluster is set up with which nobody has set up: as those of a broker
    that is new. Blocks as :func:`establish_users` does."""
    vhost_key = access_definition.key_of(access_definition.VHOST, DEFAULT_VHOST)
    found = {vhost_key: access_definition.encode_vhost(VHostInfo("Default virtual host"))}
    everything = access_definition.encode_permission(ALL_PERMISSIONS)
    for it in configured:
        user = User(it.name, _hashed(it), it.tags, it.loopback_only)
        key = access_definition.key_of(access_definition.USER, user.name)
        found[key] = access_definition.encode_user(user)
        key = access_definition.key_of(access_definition.PERMISSION, DEFAULT_VHOST, user.name)
        found[key] = everything
    return found


def established_users(
    broker: Broker, configured: tuple[UserConfig, ...], report: Callable[[str], None]
) -> Steps:
    """The steps of :func:`establish_users` on a node of a cluster, which is set up. ``report`` is
    told, in a line, while the other nodes can't be asked."""
    broker.access.loopback_users = frozenset(user.name for user in configured if user.loopback_only)
    if configured == (GUEST,):
        return  # it is the default, and was made before
    for user in configured:
        is_known = user.name in broker.users
        yield from _insisted(broker, partial(_establish, broker, user), report)
        if not is_known and DEFAULT_VHOST in broker.vhosts:
            allow = partial(broker.access.allow_everything, user.name, DEFAULT_VHOST)
            yield from _insisted(broker, allow, report)


def _insisted(broker: Broker, act: Callable[[], object], report: Callable[[str], None]) -> Steps:
    while True:
        try:
            yield from agreed(act)
        except ConnectionException as error:
            report(f"waiting for etcd: {error.text}")
            pause = Until()
            broker.after(RETRY_S, pause.happened)
            yield pause
        else:
            return


def _establish(broker: Broker, wanted: UserConfig) -> None:
    known = broker.users.get(wanted.name)
    if known is None:
        user = User(wanted.name, _hashed(wanted), wanted.tags, wanted.loopback_only)
    else:
        password = known.password
        if not is_right(password, wanted.password.encode()):
            password = _hashed(wanted)
        user = replace(
            known, password=password, tags=wanted.tags, loopback_only=wanted.loopback_only
        )
    if user != known:
        broker.access.store_user(user)


def _hashed(user: UserConfig) -> PasswordHash:
    """The hash to store for a configured user: a fast one for guest, since everybody knows that
    password, and a RabbitMQ that imports it goes on to let guest in."""
    password = user.password.encode()
    if user == GUEST:
        return hash_password(password, os.urandom(SALT_BYTES))
    return argon2id(password)
