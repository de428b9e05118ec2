"""What an answer claims, held against the release's options, the log's own numbers, what is in force and what is left over."""
