"""What no rule names yet: starts that are alike are put together, and a rule is proposed for each group."""
