"""What handles chunks of logs: one process, several, or a Ray cluster."""
