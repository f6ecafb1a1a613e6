"""The broker-facing tests that other people's clients ship, run against both brokers."""
