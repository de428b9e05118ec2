"""What works chunks of logs off: one process, several, or a Ray cluster."""
