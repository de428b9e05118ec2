"""Reports at rest: rows in Parquet or JSON lines, written so that none is lost or doubled whatever is killed."""
