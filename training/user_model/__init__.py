"""A model of a user's own logs, which is asked before the shipped one."""
