"""summaries: noisy counts of conjunctions of a few literals, which answer queries of many literals through polynomials."""
