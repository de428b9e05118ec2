"""What a log tells of its server: versions, arguments, memory figures."""
