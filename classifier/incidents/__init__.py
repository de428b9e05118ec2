"""Server starts, from their first line to their end, with all that was read of them."""
