"""The catalogue of messages: mined from released packages, labelled, and measured (docs/lab/messages.md)."""
