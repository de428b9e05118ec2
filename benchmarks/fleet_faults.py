"""Kills of workers, drivers and nodes at random moments: what comes out in the end must be what an undisturbed run writes."""
