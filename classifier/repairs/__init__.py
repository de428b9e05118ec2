"""Which change to vLLM mended what a log failed on: found by the line, the name or the message that failed, on its condition.

``error`` reads what an exception says was wrong; ``match`` holds that against what each repair changed (``corpus/repairs``); ``say``
puts it into words. A repair that only touches the same function is not told.
"""
