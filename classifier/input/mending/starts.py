"""Where a line of a log begins, told by its own words: for text whose newlines are lost or in the wrong places."""

from __future__ import annotations

from ...patterns.lazy import LazyPattern

OWNER = r"\((?:[A-Za-z_][\w.:=-]{0,60}(?: [\w=]{1,20}){0,3} )?pid=\d{1,10}(?:, ip=[\w.:]{1,60})?\)"
"""The process that Ray or vLLM names before a line."""
RECORD = (
    r"(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) {1,6}\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})? "
    r"(?:\[[^\]\s]{1,120}\]|[\w./<>-]{1,80}:\d{1,6}\])?"
)
"""vLLM's own prefix without the process."""
FRAME = r'File "[^"\n]{1,400}", ?line \d{1,9}(?:, in (?:<[\w ]{1,40}>|[\w.]{1,200})(?:\.<locals>\.[\w.<>]{1,200})?)?'
HEAD = r"Traceback \(most recent call last\):"
LINK = (
    r"The above exception was the direct cause of the following exception:"
    r"|During handling of the above exception, another exception occurred:"
)
STAMP = r"\[\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?\]"
"""The time that a CI system puts before a line."""
BELOW = (
    r"CUDA kernel errors might be asynchronously|For debugging consider passing |Compile with `TORCH_USE_CUDA_DSA`"
    r"|Set TORCHDYNAMO_VERBOSE=|You can suppress this exception "
)
"""What PyTorch puts on lines of its own, below an exception's message."""
DETAILS = LazyPattern(
    r"(?:Value error, |Assertion failed, |Input should be |Field required|Extra inputs are |For further information visit )"
)
"""What pydantic puts on lines of their own, below the exception's."""
RANK = r"\[rank\d{1,4}\]:|\[[WEIF]\d{3,4} \d\d:\d\d:\d\d"
ACCESS = r"(?:INFO|WARNING|ERROR): {1,9}(?=[A-Z\d\[(])"
"""uvicorn's own lines."""
OTHERS = (
    r"[WEIF]\d{4} \d\d:\d\d:\d\d\.\d"
    r"|Process (?:\w{1,40}[-_]?\d{0,4}):"
    r"|Exception (?:in (?:thread|callback|ASGI)|ignored in)"
    r"|handle: <|future: <|Task exception was never retrieved"
    r"|Fatal Python error: |Current thread 0x|Thread 0x|terminate called|what\(\): |frame #\d{1,3}: |Exception raised from "
    r"|Memory access fault by GPU |(?<!: )CUDA Error: |\*\*\* SIG[A-Z]{2,8} "
    r"|Segmentation fault|Bus error|Aborted \(core|Killed(?=\s|$)"
    r"|Loading (?:safetensors|pt) checkpoint shards: |Capturing CUDA graph|Capturing cudagraphs|Processed prompts: "
    r"|usage: (?=[a-z][\w.-]{0,40} (?:\[|serve|<|-))|docker: Error|nvidia-container-cli: |huggingface/tokenizers: "
    r"|(?<![\w./+-])[A-Za-z/][\w./+-]{1,200}:\d{1,6}: (?:\w{0,40}Warning: |\w{1,40}: block: \[)"
    r"|(?<![\w.-])[A-Za-z][\w.-]{1,60}:\d{1,9}:\d{1,9} \[\d{1,3}\] NCCL "
    r"|(?<![\w.-])[a-z][\w.-]{1,40}(?: serve)?: error: "
)
ANY = LazyPattern(
    rf"(?P<record>{OWNER} ?{RECORD}|{RECORD})|(?P<owner>{OWNER}|{STAMP})|(?P<frame>{FRAME})|(?P<head>{HEAD})|(?P<link>{LINK})"
    rf"|(?P<rank>{RANK})|(?P<access>{ACCESS})|(?P<other>{OTHERS})|(?P<below>{BELOW})|(?P<carets>[~^]{{2,}})"
)
PREFIX = LazyPattern(rf"(?:{OWNER} ?{RECORD}|{RECORD}|{OWNER}|\[rank\d{{1,4}}\]:)\s*")
"""What stands before a message; alone on a line, the message was broken off."""
OWNED = LazyPattern(OWNER)
BEGINS = LazyPattern(
    rf"\s*(?:{OWNER}|{RECORD}|File \\{{0,2}}\"|{HEAD}|{LINK}|{RANK}|{ACCESS}|{OTHERS}"
    r"|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)[ :]|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d[ ,.]"
    r"|[\w.-]{1,60} +\| |[$#] \w|```|> |\{\"|</?[a-z]{1,10}[ >]|[\u2500-\u257f+|]"
    r"|[A-Z][\w (),=+-]{0,60}: +\d{1,3}%[| ]|>>> |usage: |\[\w{1,60}\.py:\d{1,5}\] |[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d "
    r"|/[\w./+-]{1,200}\.py:\d{1,6}:(?: |$))"
)
"""A line that is the first of its own, whatever stands above it."""
_NAMES = (
    "ValueError|RuntimeError|TypeError|KeyError|AttributeError|AssertionError|ImportError|ModuleNotFoundError|OSError|"
    "NotImplementedError|IndexError|FileNotFoundError|PermissionError|ConnectionError|TimeoutError|MemoryError|"
    "UnicodeDecodeError|ZeroDivisionError|NameError|SystemExit|KeyboardInterrupt|ConnectionRefusedError|LookupError"
)
EXCEPTION = LazyPattern(
    r"(?:(?<![\w.'\"`])|(?<=[)\]}]))(?:[a-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}?"
    r"(?:Error|Exception|Exit|Interrupt|OutOfResources|NotFound|Failure|Timeout|Group)(?:\([\w.]{1,80}\))?(?=: |:?\s*$)"
    r"|(?:(?<![\w.'\"`])|(?<=[)\]}]))(?:[a-z_]\w{0,60}\.){1,8}[A-Z]\w{1,80}(?=: )"
    rf"|(?:{_NAMES})(?=: )"
)
"""An exception's own line, within the text that follows its stack."""
