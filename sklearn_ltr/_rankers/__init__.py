"""The three rankers: lambdas, and what learns from them, behind one interface."""
