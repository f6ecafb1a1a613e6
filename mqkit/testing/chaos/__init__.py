"""Faults at random on the link between a program and its broker, by a seed.

plan   the faults of a seed, and their times; pure
run    a command behind a proxy that has them
"""
