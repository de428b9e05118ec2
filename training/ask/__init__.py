"""How good a language model's proposals are before and after they were checked, by strict readers' references."""
