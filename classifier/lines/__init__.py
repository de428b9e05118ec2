"""Lines with what others put in front peeled off, and the tracebacks that they form."""
