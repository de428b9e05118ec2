"""Holds vLLM's own messages, release by release, against the rules: what no rule covers, which rules can no longer fire."""
