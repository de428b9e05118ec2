"""What a person knows of a log before any rule is asked: whose it is, what its writer says, which release and attempt it is of."""
