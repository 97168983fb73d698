"""The inspection: a built prompt as a page shows it, with its origins, verdicts, bodies and differences."""
