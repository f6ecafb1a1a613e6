"""The real core and the real store over a simulated clock, network and disk, from a seed."""
