"""The common part of the private servers of tests: ports that are free, and a process that can be
signalled and ended."""
