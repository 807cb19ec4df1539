"""histograms: plans, releases and answers of histograms over ordered bins, and of sorted counts."""
