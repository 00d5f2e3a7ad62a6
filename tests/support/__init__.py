"""What several tests share: oracles and real files. Pytest finds it through `pythonpath`."""
