"""Partitions found on the private side: intervals of nearly equal numbers of records, and boxes cut at noisy medians."""
