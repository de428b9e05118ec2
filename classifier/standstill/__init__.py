"""Whether a server that is silent works, is slow, or stands still: judged by time as it goes by, for logs that are followed."""
