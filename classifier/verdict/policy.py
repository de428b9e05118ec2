"""Every number of the verdict, each with its reason. A test fails when one of them no longer moves any verdict."""

from __future__ import annotations

from .measured import SURE, TRUST

STRENGTH = {"certain": 3.0, "strong": 2.2, "weak": 1.0, "guess": 0.65}
"""Points of a rule by its strength: one step outweighs every signal below, so that strength decides first."""

ACCEPT = 0.5
"""Points below which a candidate is no answer, only an alternative: a weak rule in quoted source code has less."""

RIVAL = 0.3
"""How far below ACCEPT a candidate of another bucket still competes with the answer, and takes from its confidence."""

SPECIFIC = 0.3
"""A rule that asks for more than its words (place, stage, other rules) goes before one of the same strength that does not."""

OUTDONE = -0.6
"""A general rule on a line for which a specific one speaks: the specific one has read more of it."""

WORDS_AND_PLACE = 0.2
"""A rule that names both the words of an exception and its place knows it better than one that names one of them."""

QUOTED = -1.6
"""Words in source code that a traceback shows were not said by anybody: only a certain rule survives that."""

QUIET = -0.25
"""What is said at INFO or WARNING goes behind the same words said as an error: the process could live with it."""

QUIET_LEAD = 1.5
"""Points by which what was said at INFO or WARNING must lead an error of another kind to be the cause all the same."""

CONFIRMED = 0.15
"""What the same log confirms, by another line, an argument or a figure, goes before what it does not."""

REFUTED = -1.2
"""What the same log refutes goes behind another cause of the next strength: its words came of something else."""

WAITED = -1.3
"""A wait that timed out goes behind an exception that another process raised before it, even behind a rule's guess."""

REQUEST_WHILE_DYING = -0.9
"""What concerns one request is not why the engine died at the same time."""

REQUEST = -0.2
"""What concerns one request goes behind what concerns the server."""

CONFIDENCE = {"certain": 0.985, "strong": 0.955, "weak": 0.88, "guess": 0.6}
"""Confidence by the strength of the deciding rule, before what competes with it is taken off (docs/lab/accuracy.md)."""

QUOTED_LESS = 0.25
"""Taken off the confidence where the deciding words stand in quoted source code."""

REFUTED_LESS = 0.3
"""Taken off the confidence of a cause that the same log refutes, where no other is found."""

THIN_BELOW, THIN_LESS = 1.0, 0.1
"""Points below which an answer has little behind it, and what that takes off the confidence."""

CLOSE, CLOSE_LESS = 0.8, 0.12
"""Distance in points within which a rival of another bucket takes off confidence, and how much where they are equal."""

WRAPPER = {way: SURE[way] for way in ("wrapper", "process_died", "engine_dead")}
"""Confidence where a wrapper is all that the log shows: one that names its cause, a process that died, or no more than that the
engine is dead. The last two are often all that is left of a cause which nobody knows."""

SILENT_END = SURE["silence"]
"""Confidence where a log simply stops in distributed start-up."""

UNEXPLAINED = 0.5
"""Confidence that what went wrong is none of the known causes, where the server did not come up."""

UNEXPLAINED_AFTER_READY = 0.4
"""The same where it had come up: there an exception may concern one request."""

GUESS = 0.5
"""Probability from which on the text model's bucket is answered where no rule explains what went wrong.

With half of the rules hidden it gains 27 of 1,032 development answers from here on, and loses one.
"""

GUESS_OVER_WEAK = 0.7
"""The same where a weak rule names another bucket: with half of the rules hidden it gains 13 answers and loses two."""

GUESS_OVER_DEATH = 0.6
"""The same where a wrapper says no more than that the engine is dead: hidden messages gain three answers and lose none (docs/model.md)."""

FRAMES_MUCH, FRAMES_SOME = 20.0, 3.0
"""How many times as likely a bucket is where the stack of an unknown exception ends in a part of the code that stands for it.

With the words of the exceptions, or the rules that know them, hidden, the model answers 93 of 193 development logs at 0.5 with
these, 67 of them rightly, and 49 of 74 without; of 110 written ones 40 of 56 and 33 of 46, of 255 recorded ones 141 of 152
and 130 of 142.
"""

STOPPED = 0.93
"""Confidence that nothing failed, where a signal or the server's own shutdown ends the log."""

CAME_UP = 0.95
"""The same where the server came up, and nothing that went wrong is left unexplained."""

STARTING = 0.85
"""The same where the log ends on the way: what comes next is not in it."""

NO_SIGN = 0.7
"""The same where something is vLLM's and no stage of a start shows."""

ERRORS_LESS = 0.04
"""Taken off these where lines were logged as errors that no rule explains, all of them overcome."""

SILENT_WITHIN = 60
"""Lines after the last mark of distributed start-up within which a log that ends there stopped there."""

OTHER_SOFTWARE = 0.6
"""Confidence that a failure in another program's log is none of vLLM's."""

GUESS_TRUST = TRUST
"""Share of a guess's probability above an even chance that is kept where the rules are silent, without and with what the stack says:
the model is calibrated on texts like those that it learnt from, and such logs are others."""

NOTHING = 0.7
"""Confidence that a text in which nothing is recognised is none of the known failures."""

MESSAGE = SURE["message"]
"""Confidence where the catalogue of messages names the bucket."""

MESSAGE_OF_MODULE = SURE["message_of_module"]
"""The same where nobody has read the message, and the module of the package around vLLM that says it names the bucket."""

COMPLAINED = 0.5
"""Confidence where somebody says that something is wrong, and the log shows nothing: as likely as not it is of another time."""

PART = 0.85
"""Confidence where a part of a known message stands in the log: the rest may have named another cause."""

GUESS_OVER_BUG = 0.6
"""What GUESS is where else the answer is a fault of vLLM's own code: by a rule on the place, or by an exception of Python's own.

Of reports by people such a fault is often a fair answer; with the deciding rules hidden 0.5 would gain three answers of 611,
and lose three of 142 excerpts with everything in sight.
"""

BUG = SURE["strange_exception"]
"""Confidence that such an exception in vLLM's own code is a fault of that code and not of a setting."""

PLACE = 0.55
"""Confidence where a package around vLLM that does one thing alone raised an exception of unknown words, and the model is not sure.

With messages hidden such a place was right in four of five.
"""

WATCHED, WATCHED_LINES = 60.0, 12
"""Seconds, or lines of statistics, from which on a state of a server at work is no passing one (``classifier/serving``)."""

STALLED = 0.92
"""Confidence that an engine stands still where it was watched for so long, or over three lines: a step takes milliseconds.

Cutting 26,612 lines of real servers after each one gave three such standstills that were over later, all of 30 s.
"""

STALLED_BRIEFLY = 0.75
"""The same after one line without a token: a very long step, or a first compilation, looks like this for a while."""

DEGRADED = 0.85
"""Confidence that a server which was full, or slow, over that time to the end of its log is why the log is shown."""

DEGRADED_BRIEFLY = 0.72
"""The same where there are but a few lines, or an excerpt: whoever chose them found them slow, and had perhaps a burst."""

STOOD_STILL = 0.92
"""Confidence where a server was seen to stand still for longer than its patience, with more than silence to show for it."""
