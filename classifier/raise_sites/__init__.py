"""Why vLLM raised an error: what the guard in front of it asks, and where what it reads comes from (``explain``)."""
