"""Numbers, text, dates and random numbers as the JavaScript originals have them."""
