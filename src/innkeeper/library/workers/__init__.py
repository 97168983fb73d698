"""The register of workers: invitations, leases, and the states that a worker goes through."""
