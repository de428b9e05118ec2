"""Answers for coding agents: a server that speaks the Model Context Protocol, and the instructions that go with it."""
