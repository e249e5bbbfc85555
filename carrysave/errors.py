"""Errors that a user can mend."""

__all__ = ["UsageError"]


class UsageError(Exception):
    """The command line, or a file that it names, asks for something that cannot be."""
