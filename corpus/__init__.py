"""What is known: buckets, rules and fixes, vLLM's options by release, sample logs. Imports nothing else of ours."""

from .store import Corpus, load
from .types import Rule

__all__ = ["Corpus", "Rule", "load"]
