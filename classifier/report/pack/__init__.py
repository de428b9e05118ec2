"""The evidence pack: what a reader needs who concludes for himself, within a budget of characters (docs/pack.md)."""
