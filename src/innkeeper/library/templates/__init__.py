"""Templates: their keys and versions, how they are composed, filled and rendered, checked, compared and stored."""
