"""Containers: scanning bytes against the tables of spec/container, and what is found."""
