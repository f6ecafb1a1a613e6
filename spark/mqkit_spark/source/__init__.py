"""Queues into DataFrames.

batch/   a read that has an end
stream/  a read that has none
"""
