"""decision_lists: tables whose rows are decision lists, answered at every point from noisy counts of conjunctions."""
