"""Makes what is mined from vLLM's releases anew: one command for all tables and indexes."""
