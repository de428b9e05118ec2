"""How much of a traceback is kept, and how long one that nobody continues stays open."""

from __future__ import annotations

MESSAGE_LINES = 12
"""Lines of a message that runs over several lines."""
OVER = MESSAGE_LINES + 2
"""Lines after which a message that nobody continues is over."""
FRAMES = 200
"""Frames kept of one stack."""
GIVE_UP = 400
"""Lines after which a traceback that nobody continues is closed."""
NATIVE_FRAMES = 60
"""Frames kept of a C++ stack."""
STREAMS = 2000
"""Streams kept; a log that has more of them starts anew."""
FOREIGN = 25
"""Lines of other text tolerated inside an open traceback of unprefixed lines."""
BARE_WITHIN = 3
"""Lines after the last one of a logged stack within which a bare exception ends it."""
