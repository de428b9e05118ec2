"""Bytes of any kind in, text blocks out: files, streams, archives, encodings, records of collectors."""
