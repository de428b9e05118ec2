"""How good the advice is, by strict readers' references: with all rules in sight, and with an answer's cause hidden from them."""
