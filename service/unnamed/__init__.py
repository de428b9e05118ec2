"""What nobody has named yet: incidents of the history that no rule names, in groups, with a rule proposed for each."""
