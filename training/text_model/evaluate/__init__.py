"""How well logs are answered, and the pages that say so."""
