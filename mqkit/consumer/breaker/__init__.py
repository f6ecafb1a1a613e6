"""The circuit breaker of a consumer: it stops consuming while handlers say ``Unavailable``."""
