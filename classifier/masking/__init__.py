"""What must not be shown: tokens, keys, passwords, and how they are recognised."""
