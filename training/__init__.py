"""Mines vLLM releases, records real failures, trains, evaluates. Not needed at run time."""
