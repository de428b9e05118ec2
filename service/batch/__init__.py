"""Many logs: from folders, patterns, archives and object stores to one row a server start, in several processes."""
