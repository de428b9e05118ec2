"""Logs while they are written: a command that is started, a pipe, a file that is followed."""
