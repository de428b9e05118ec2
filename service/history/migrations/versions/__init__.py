"""One file a step. A step that was released is never changed; the next one follows it."""
