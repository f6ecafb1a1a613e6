"""Resources of handlers, with a lifespan: of a message, or of the app."""

from mqkit.resources.app_resources import AppResources
from mqkit.resources.call_resources import CallResources
from mqkit.resources.dependency import Dependency, Scope, depends
from mqkit.resources.plan import Plan

__all__ = ["AppResources", "CallResources", "Dependency", "Plan", "Scope", "depends"]
