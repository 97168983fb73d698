"""Text under rules that are not ours: confusable letters, and JavaScript's rules for numbers, dates and chance."""
