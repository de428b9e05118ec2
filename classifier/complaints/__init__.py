"""What an error finds fault with: the option, variable or value that its words name, or that shows by what came of it."""
