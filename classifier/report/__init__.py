"""The answer as everything shows it, with its secrets masked."""
