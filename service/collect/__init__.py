"""Logs from collectors: many streams at once, each read as it comes, each answered as soon as its cause is certain."""
