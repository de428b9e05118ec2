"""What is known: buckets, rules and fixes, vLLM's options by release, sample logs. Imports nothing else of ours."""

from .store import Corpus, RuleRow, load

__all__ = ["Corpus", "RuleRow", "load"]
