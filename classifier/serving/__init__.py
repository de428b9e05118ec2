"""What the periodic lines of a server at work tell of its health: from lines to samples, from samples to states."""
