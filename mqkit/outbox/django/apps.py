"""The app, as Django finds it by ``"mqkit.outbox.django"`` in ``INSTALLED_APPS``."""

from __future__ import annotations

from django.apps import AppConfig


class OutboxConfig(AppConfig):
    """``manage.py migrate mqkit_outbox`` makes the tables."""

    name = "mqkit.outbox.django"
    label = "mqkit_outbox"
    verbose_name = "mqkit outbox"
