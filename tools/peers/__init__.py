"""Adapters for tools/peer_tests.py: each runs a project's own tests on warpkit's functions."""
