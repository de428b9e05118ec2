"""Explains an exception of ``vllm.LLM(...)`` where it is raised: a context manager and a ``logging.Handler``."""
