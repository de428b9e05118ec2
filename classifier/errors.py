"""Errors that a caller may meet. Each message says what to do."""


class TriageError(Exception):
    """Base of everything that this package raises on purpose."""


class InputError(TriageError):
    """The input cannot be read: missing, a folder, not permitted, a format we do not take."""


class RuleError(TriageError):
    """A rule file is broken."""
