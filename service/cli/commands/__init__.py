"""Sub-commands: one module each, with ``run(words) -> exit code``."""

COMMANDS = {
    "run": ("run", "start a server through this command, and explain its failure below its output"),
    "explain": ("explain", "say what a bucket or a cause is, and how it is fixed"),
    "compare": ("compare", "say what is different between two logs, and whether a change cured"),
    "option": ("option", "say whether a release of vLLM has an option, and what took its place"),
    "issue": ("issue", "write a bug report for vLLM from a log, ready to paste"),
    "rules": ("rules", "list the rules"),
    "plan": ("plan", "work out whether a model fits some GPUs, and with which options"),
    "serve": ("serve", "answer over HTTP, keep the history, show the web page"),
    "playground": ("playground", "write a page that reads logs in the browser, without a server"),
    "chat": ("chat", "show the message that a chat would get about a log"),
    "mcp": ("mcp", "answer coding agents by the Model Context Protocol"),
    "history": ("history", "look into the incidents that serve keeps; export feedback"),
    "batch": ("batch", "answer many logs, one row for each server start, in processes or on a Ray cluster"),
    "report": ("report", "show what fails in the rows of batch: since when, with which release, where"),
    "learn": ("learn", "find in the rows of batch what no rule names yet, and propose rules"),
    "train": ("train", "train the text model on logs of your own"),
    "evaluate": ("evaluate", "score the answers on labelled logs"),
    "completion": ("completion", "print a completion script for a shell"),
}
"""Sub-command to its module in service/commands and its help line."""
