"""Where the service fetches the log of an alert itself: from what the operator configured, never from what a request names."""
