"""Learns from recorded healthy starts how long the stages of a start take."""
