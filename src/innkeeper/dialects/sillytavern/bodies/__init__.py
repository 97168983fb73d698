"""Bodies of the sources that have a conversion of their own."""
