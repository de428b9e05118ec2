"""How answers are worked out: small logs in a thread, large ones in processes that can be killed."""
