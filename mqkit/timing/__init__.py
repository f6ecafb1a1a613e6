"""Times: clocks, spans that users write, waiting times between attempts, and rates."""
