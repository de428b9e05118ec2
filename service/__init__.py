"""Every way in: the command line, HTTP, chats, the web page, and a client of the service."""
