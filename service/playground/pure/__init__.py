"""What the browser's own Python is given beside the engine: stand-ins for compiled packages, and what the page calls."""
