"""halfspaces: noisy sides of randomly projected points, which answer for any halfspace how many records lie in it."""
