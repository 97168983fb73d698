"""Content tiers: the operator's policy and rules, the detector, and the gate that every text passes."""
