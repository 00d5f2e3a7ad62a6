"""The inspector's page for files of this machine: read-only, for this machine alone."""
