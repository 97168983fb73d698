"""The log of calls, its figures, and the metrics of this process."""
