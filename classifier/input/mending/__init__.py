"""What people paste, made a log again: pages, tables, records, typography, wrapped and joined lines.

Nothing here is imported for a log that came as it was written.
"""
