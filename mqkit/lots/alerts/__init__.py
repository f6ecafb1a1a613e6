"""Alerts: a limit that is reached is told once, and once when it is over."""
