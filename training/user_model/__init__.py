"""A model of a user's own logs, on top of the shipped one."""
