"""A page without a server: the engine in the browser, as one folder of static files."""
