"""Tasks: what the library decides is carried out: a text is planned, routed, asked for, looked at and recorded."""
