"""Middleware: functions of the program around every publish, and around every handler.

It is taken when the app is entered. An app that has none pays nothing for it.
"""

from mqkit.middleware.around import (
    HandleMiddleware,
    HandleNext,
    PublishMiddleware,
    PublishNext,
)
from mqkit.middleware.registered import Middleware
from mqkit.middleware.surrounded_handler import SurroundedHandler
from mqkit.middleware.surrounded_publisher import Publishes, SurroundedPublisher
from mqkit.middleware.tracing import Tracing

__all__ = [
    "HandleMiddleware",
    "HandleNext",
    "Middleware",
    "PublishMiddleware",
    "PublishNext",
    "Publishes",
    "SurroundedHandler",
    "SurroundedPublisher",
    "Tracing",
]
