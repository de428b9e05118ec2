"""Which rules fit a log: one pass for the literals of all rules, then the expressions of a few."""
