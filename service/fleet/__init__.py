"""What the rows of many logs say together: what fails, since when, where, and what an upgrade changed."""
