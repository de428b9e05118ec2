"""Fixes with this log's values, and the start command that applies them."""
