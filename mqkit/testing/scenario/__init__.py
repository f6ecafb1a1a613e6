"""A recorded scenario: the faults of a broker in the test's process, each at its moment of the
test's clock, as a file that a test replays.

    verbs       what may be in one, and with which arguments
    step        one of them, at its moment
    file        steps as YAML
    recording   steps of what a test, or a person, does now
    replaying   the same steps again
"""
